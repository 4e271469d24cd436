import type { ReportSite } from '../../keywords/sites.ts';
import type { CsvPiece } from './csv-pieces.ts';
import type { AskLabels } from './labels.ts';
import type { StagedPiece } from './report.ts';

/** What a thread that reads pieces begins with. */
export interface ReaderSetup {
  site: ReportSite;
}

export type ToReader =
  | { kind: 'piece'; piece: CsvPiece }
  /** Answers come in the order of questions. */
  | { kind: 'labels'; labels: Awaited<ReturnType<AskLabels>> };

export type FromReader =
  /** In the order of the pieces. */
  { kind: 'staged'; piece: StagedPiece } | { kind: 'names'; names: Parameters<AskLabels>[0] };
