import type { ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';
import type { AskNames } from './names.ts';
import type { ReportPiece } from './read-piece.ts';
import type { StagedPiece } from './report.ts';

/** What a thread that reads pieces begins with. */
export interface ReaderSetup {
  site: ReportSite;
}

export type ToReader =
  | { kind: 'piece'; piece: ReportPiece }
  /** Answers come in the order of questions. */
  | { kind: 'ids'; ids: Awaited<ReturnType<AskNames>> };

export type FromReader =
  /** In the order of the pieces. */
  { kind: 'staged'; piece: StagedPiece } | { kind: 'names'; names: Parameters<AskNames>[0] };
