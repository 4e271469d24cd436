/** What a field has without data, and what `decode=1` makes of it. Absent where the general rule applies. */
export interface Particulars {
  /** The values that mean that there are no data, such as -1; without it, null, or that the field is absent. */
  none?: string;
  /** Without it, `decode=1` leaves the field as it is. */
  decode?: string;
}

/** A field of the provider's model: its name, its type or unit, its meaning, and its particulars. */
export type Field = readonly [name: string, type: FieldType, meaning: string, particulars?: Particulars];

/** The types of fields with their meaning. */
export const FIELD_TYPES = {
  text: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: '`true` or `false`',
  price: "whole number in the smallest unit of the site's currency: cents, or yen for `jp`",
  minutes: 'index minutes: Unix milliseconds are `(t + 21564000) * 60000`; may be negative',
  date: 'whole number `YYYY`, `YYYYMM` or `YYYYMMDD`',
  percent: 'number from 0 to 100',
  mm: 'millimetres',
  grams: 'grams',
  id: 'whole number; beyond 2^53 all digits are sent, so read it as text or as a big integer',
  ASIN: 'text of ten characters',
  list: 'list',
  object: 'object',
  history:
    'flat list of points, oldest first: index minutes, then the values that the meaning names. A point is added when a value changes',
  series: 'list with an entry for each index of `csv`',
} as const;

type FieldType = keyof typeof FIELD_TYPES;

/** The meaning of fields that the provider sends and does not document. */
export const AS_SENT = 'As the provider sends it; its meaning is not documented';
