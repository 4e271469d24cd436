import type { ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';
import type { AskNames } from './names.ts';
import type { ReportPiece } from './read-piece.ts';
import type { StagedPiece } from './report.ts';

/** The data with which a reader thread starts. */
export interface ReaderSetup {
  site: ReportSite;
}

export type ToReader =
  | { kind: 'piece'; piece: ReportPiece }
  /** Replies have the order of the requests. */
  | { kind: 'ids'; ids: Awaited<ReturnType<AskNames>> };

export type FromReader =
  /** Pieces have the order in which they were sent. */
  { kind: 'staged'; piece: StagedPiece } | { kind: 'names'; names: Parameters<AskNames>[0] };
