import { stringify } from 'csv-stringify/sync';

/** Rows as CSV. The columns are those of all rows, in the order in which they appear. */
export function rowsCsv(rows: readonly Record<string, unknown>[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return stringify([...rows], {
    header: true,
    columns,
    // Spreadsheets must not run a field as a formula; numbers stay numbers.
    escape_formulas: true,
    cast: { number: (value) => ({ value: String(value), escape_formulas: false }) },
  });
}
