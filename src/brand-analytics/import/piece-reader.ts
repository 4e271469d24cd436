import type { ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';
import type { AskNames } from './names.ts';
import { type ReportPiece, readPiece } from './read-piece.ts';
import { openReaderThreads, type ReaderThreads } from './reader-threads.ts';
import type { StagedPiece } from './report.ts';
import { openStaging } from './staging.ts';

/** Converts pieces to rows. */
export interface PieceReader {
  /** The number of pieces to read at the same time. Each one takes memory. */
  readonly mostUnderWay: number;
  read(piece: ReportPiece): Promise<StagedPiece>;
  /** Aborts the pieces under way. */
  close(): Promise<void>;
}

/** Files up to this size are read without threads, because starting threads would take longer. */
const ALONE_BYTES = 8 * 2 ** 20;

/** Reads the start of a file in this thread, and the rest in other threads. */
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
