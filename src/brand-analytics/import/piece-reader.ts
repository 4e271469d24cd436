import type { ReportSite } from '../../keywords/sites.ts';
import { PRESENT_COLUMNS, readPiece } from './csv-records.ts';
import type { PieceReader } from './csv-report.ts';
import type { AskLabels } from './labels.ts';
import { openReaderThreads, type ReaderThreads } from './reader-threads.ts';
import { openStaging } from './staging.ts';

/** So much has been read before threads take longer to start than they save. */
const ALONE_BYTES = 8 * 2 ** 20;

/** Reads the beginning of a file here, and what is behind it in threads. */
export function openPieceReader(site: ReportSite, ask: AskLabels): PieceReader {
  const stage = openStaging(site, ask);
  let threads: ReaderThreads | undefined;
  let bytes = 0;
  return {
    get mostUnderWay() {
      return threads?.mostUnderWay ?? 1;
    },
    async read(piece, columns) {
      bytes += piece.bytes.length;
      // Old layouts name departments, whose numbers follow the order of the file.
      if (bytes <= ALONE_BYTES || columns !== PRESENT_COLUMNS) return stage(readPiece(piece, columns));
      threads ??= openReaderThreads(site, ask);
      return threads.read(piece);
    },
    async close() {
      await threads?.close();
    },
  };
}
