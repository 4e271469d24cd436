import { productNamedBy } from '../../../operations/products/product-address.ts';

/** What a column of a file holds. */
export type Wanted = 'asins' | 'texts';

/** The values of a file for a batch, and what its page shows of it. */
export interface FileColumn {
  /** Distinct, in the order of the file. */
  values: string[];
  /** The heading of the column; null if the file has none. */
  heading: string | null;
  /** The first rows of the file, with its first columns. */
  first: string[][];
}

const HEADINGS: Readonly<Record<Wanted, RegExp>> = {
  asins: /^(?:product )?asins?$/i,
  texts: /^(?:search )?(?:terms?|keywords?|phrases?|quer(?:y|ies))$/i,
};

/** Rows that are looked at to find the column. */
const SAMPLE_ROWS = 200;
const ROWS_SHOWN = 5;
const COLUMNS_SHOWN = 6;
const LONGEST_SHOWN = 60;

/** Returns the values of the column with ASINs or terms; null if no column has any. */
export function columnOf(rows: readonly (readonly string[])[], wanted: Wanted): FileColumn | null {
  const filled = rows.filter((row) => row.some((cell) => cell !== ''));
  const [head = []] = filled;
  const named = head.findIndex((cell) => HEADINGS[wanted].test(cell.trim().replaceAll(/[\s_]+/g, ' ')));
  const column = named === -1 ? fittingColumn(filled.slice(0, SAMPLE_ROWS), wanted) : named;
  if (column === -1) return null;
  const hasHead = named !== -1 || valueIn(head[column] ?? '', wanted) === null;
  const cells = (hasHead ? filled.slice(1) : filled).map((row) => (row[column] ?? '').trim());
  // A value that is not an ASIN stays, and the service refuses it with its position.
  const values = new Set(cells.filter(Boolean).map((cell) => valueIn(cell, wanted) ?? cell));
  if (values.size === 0) return null;
  return {
    values: [...values],
    heading: hasHead ? (head[column] ?? '').trim() : null,
    first: filled
      .slice(0, ROWS_SHOWN)
      .map((row) => row.slice(0, COLUMNS_SHOWN).map((cell) => cell.slice(0, LONGEST_SHOWN))),
  };
}

/** Returns the column with the most values of the kind, the first of several; -1 if there is none. */
function fittingColumn(rows: readonly (readonly string[])[], wanted: Wanted): number {
  const counts: number[] = [];
  for (const row of rows)
    for (const [i, cell] of row.entries())
      if (valueIn(cell, wanted) !== null) counts[i] = (counts[i] ?? 0) + 1;
  const most = Math.max(0, ...counts.filter((count) => count !== undefined));
  return most === 0 ? -1 : counts.indexOf(most);
}

/** Returns the value of a cell: the ASIN that it names, or a text without a number. */
function valueIn(cell: string, wanted: Wanted): string | null {
  if (wanted === 'asins') return productNamedBy(cell)?.asin ?? null;
  const text = cell.trim();
  return text === '' || /^[\d.,:%\s€$£-]+$/.test(text) ? null : text;
}
