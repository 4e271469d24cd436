import type { PieceReader } from './piece-reader.ts';
import type { ReportPiece } from './read-piece.ts';
import type { StagedPiece } from './report.ts';

/** Reads several pieces at a time, and gives them in the order of the file. */
export async function* readInOrder(
  pieces: AsyncIterable<ReportPiece>,
  reader: PieceReader,
): AsyncGenerator<StagedPiece> {
  const underWay: Promise<StagedPiece>[] = [];
  try {
    try {
      for await (const piece of pieces) {
        const staged = reader.read(piece);
        // Those before it are looked at first.
        staged.catch(() => {});
        underWay.push(staged);
        const first = underWay.length >= reader.mostUnderWay ? underWay.shift() : undefined;
        if (first) yield await first;
      }
    } catch (error) {
      // What makes cutting fail may have begun in a piece before.
      for (const staged of underWay) yield await staged;
      throw error;
    }
    for (const staged of underWay) yield await staged;
  } finally {
    await reader.close();
  }
}
