import { NAMED_SERIES, pointWidth } from '../history.ts';
import type { Field } from './field.ts';
import { OFFER_FIELDS, STATISTICS } from './part-fields.ts';
import { FAMILY, FEES, IDENTITY, MEDIA, OFFERS, PRICES, RANKS, TEXTS, TIMES } from './product-fields.ts';

/** Fields of the same subject. */
export interface FieldGroup {
  title: string;
  /** The object to which the fields belong; absent for those of the product itself. */
  of?: 'stats' | 'offers';
  fields: readonly Field[];
}

/** The dictionary of the fields of the provider's products. A product can have others, which are passed on. */
export const PRODUCT_FIELDS: readonly FieldGroup[] = [
  { title: 'Identity', fields: IDENTITY },
  { title: 'Texts', fields: TEXTS },
  { title: 'Prices and coupons', fields: PRICES },
  { title: 'Ranks and demand', fields: RANKS },
  { title: 'Offers and the Buy Box', fields: OFFERS },
  { title: 'Entries of `offers`', of: 'offers', fields: OFFER_FIELDS },
  { title: 'Statistics, `stats`', of: 'stats', fields: STATISTICS },
  { title: 'Fees and sizes', fields: FEES },
  { title: 'Media', fields: MEDIA },
  { title: 'Family', fields: FAMILY },
  { title: 'Times', fields: TIMES },
];

/** Returns the names of the fields of the product, or of one of its objects. */
export function fieldNames(of?: FieldGroup['of']): string[] {
  return PRODUCT_FIELDS.filter((group) => group.of === of).flatMap(({ fields }) =>
    fields.map(([name]) => name),
  );
}

/** The parameters without which the provider does not fill a series, by its index. */
const SERIES_NEEDS: Readonly<Record<string, readonly number[]>> = {
  '`offers`': [7, 9, 10, 15, 19, 20, 21, 22, 23, 24, 25, 26, 27, 33],
  '`buybox=1` or `offers`': [18, 32],
  '`rating=1`': [16, 17],
  'not requested by Souk': [31],
};

/** Returns the series of `csv` and of the statistics, in the order of their indices. */
export function seriesRows(): {
  name: string;
  unit: string;
  point: string;
  meaning: string;
  needs: string;
}[] {
  return NAMED_SERIES.map(({ name, kind, description }, index) => ({
    name,
    unit: { price: 'price', count: 'integer', stars: 'stars times ten' }[kind],
    point: pointWidth(index) === 3 ? 'time, price, shipping' : 'time, value',
    meaning: description,
    needs: Object.entries(SERIES_NEEDS).find(([, indices]) => indices.includes(index))?.[0] ?? '',
  }));
}
