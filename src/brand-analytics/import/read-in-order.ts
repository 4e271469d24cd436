import type { PieceReader } from './piece-reader.ts';
import type { ReportPiece } from './read-piece.ts';
import type { StagedPiece } from './report.ts';

/** Reads several pieces at the same time, and yields them in the order of the file. */
export async function* readInOrder(
  pieces: AsyncIterable<ReportPiece>,
  reader: PieceReader,
): AsyncGenerator<StagedPiece> {
  const underWay: Promise<StagedPiece>[] = [];
  try {
    try {
      for await (const piece of pieces) {
        const staged = reader.read(piece);
        // An error is handled when the piece's turn comes, after the pieces before it.
        staged.catch(() => {});
        underWay.push(staged);
        const first = underWay.length >= reader.mostUnderWay ? underWay.shift() : undefined;
        if (first) yield await first;
      }
    } catch (error) {
      // An error in cutting may result from an error in an earlier piece, which is then thrown first.
      for (const staged of underWay) yield await staged;
      throw error;
    }
    for (const staged of underWay) yield await staged;
  } finally {
    await reader.close();
  }
}
