import { stringify } from 'csv-stringify/sync';

/** Returns rows as CSV. Escapes values so that a spreadsheet does not read a title as a formula. */
export function csvOf(rows: readonly (readonly unknown[])[]): string {
  return stringify(rows as unknown[][], { escape_formulas: true, cast: { boolean: String } });
}
