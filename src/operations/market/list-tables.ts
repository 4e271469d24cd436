import { columnsFrom, type Row } from '../tables/columns.ts';

/** The columns of a list of ASINs. */
export const ASIN_COLUMNS = columnsFrom({
  position: ['integer', 'Position in the list, from 1'],
  asin: ['text', 'ASIN'],
  country: ['text', 'Site code, such as us'],
});

/** Yields a row for each ASIN. @param before the entries of the list before these. */
export function* asinRows(asins: readonly string[], country: unknown, before = 0): Generator<Row> {
  for (const [i, asin] of asins.entries()) yield { position: before + i + 1, asin, country };
}

/** Returns the number of entries before the page of an answer. */
export function entriesBefore(pagination: unknown): number {
  const { page = 0, perPage = 0 } = (pagination ?? {}) as { page?: number; perPage?: number };
  return page * perPage;
}
