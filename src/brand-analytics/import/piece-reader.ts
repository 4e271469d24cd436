import type { ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';
import type { AskNames } from './names.ts';
import { type ReportPiece, readPiece } from './read-piece.ts';
import { openReaderThreads, type ReaderThreads } from './reader-threads.ts';
import type { StagedPiece } from './report.ts';
import { openStaging } from './staging.ts';

/** Who makes rows of pieces. */
export interface PieceReader {
  /** So many pieces at a time keep it busy; each takes memory. */
  readonly mostUnderWay: number;
  read(piece: ReportPiece): Promise<StagedPiece>;
  /** Gives up what is under way. */
  close(): Promise<void>;
}

/** So much has been read before threads take longer to start than they save. */
const ALONE_BYTES = 8 * 2 ** 20;

/** Reads the beginning of a file here, and what is behind it in threads. */
export function openPieceReader(site: ReportSite, ask: AskNames): PieceReader {
  const stage = openStaging(site, ask);
  let threads: ReaderThreads | undefined;
  let bytes = 0;
  return {
    get mostUnderWay() {
      return threads?.mostUnderWay ?? 1;
    },
    async read(piece) {
      bytes += piece.bytes.length;
      if (bytes <= ALONE_BYTES) return stage(readPiece(piece));
      threads ??= openReaderThreads(site, ask);
      return threads.read(piece);
    },
    async close() {
      await threads?.close();
    },
  };
}
