import type { CsvPiece } from './csv-pieces.ts';
import { readCsvPiece } from './csv-records.ts';
import type { JsonPiece } from './json-pieces.ts';
import { readJsonPiece } from './json-rows.ts';
import type { ReportBatch } from './report.ts';

/** A part of a report that can be read independently. */
export type ReportPiece =
  | ({ format: 'csv' /** Number of columns of the layout. */; columns: number } & CsvPiece)
  | ({ format: 'json' } & JsonPiece);

export function readPiece(piece: ReportPiece): ReportBatch {
  return piece.format === 'csv' ? readCsvPiece(piece, piece.columns) : readJsonPiece(piece);
}
