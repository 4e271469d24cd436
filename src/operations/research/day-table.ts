import { columnsFrom, type Row } from '../tables/columns.ts';
import type { Table } from '../tables/tables.ts';
import { DAY_FORMULAS } from './product-facts.ts';

const FORMULAS = new Map(DAY_FORMULAS.map(([name, [, formula]]) => [name, formula]));

const COLUMNS = columnsFrom({
  asin: ['text', 'ASIN'],
  country: ['text', 'Site code, such as us'],
  day: ['date', 'Day, in UTC'],
  currency: ['text', 'Currency of the price, such as USD'],
  price: ['number', FORMULAS.get('price') ?? ''],
  rank: ['integer', FORMULAS.get('rank') ?? ''],
  offers: ['integer', FORMULAS.get('offers') ?? ''],
  rating: ['number', FORMULAS.get('rating') ?? ''],
});

/** A row for each product and day of the field `series` of an answer. */
export function dayTable<Input>(needs: (input: Input) => string | null = () => null): Table<Input> {
  return {
    needs,
    columns: () => COLUMNS,
    *rows({ country, currency, asin, series }) {
      for (const one of (series ?? []) as Row[]) yield { country, currency, asin, ...one };
    },
  };
}
