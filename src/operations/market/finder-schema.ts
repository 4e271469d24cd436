import type { JsonSchema } from '../params/documentation.ts';
import { VISIBLE } from '../params/scalars.ts';
import {
  type Kind,
  kindOf,
  LIST_MOST,
  MONTHLY_RANK,
  NUMBER_LISTS,
  NUMBERS,
  RANGE_METRIC,
  RANGES,
  SWITCH_METRIC,
  SWITCHES,
  TEXT_LISTS,
  TEXT_MOST,
  TEXTS,
} from './finder-names.ts';

/** Schema of a selection's filters for the documentation: the usual ones by name, the others by name patterns. */

const WHOLE: JsonSchema = {
  type: 'integer',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
};
const TEXT: JsonSchema = { type: 'string', minLength: 1, maxLength: TEXT_MOST, pattern: VISIBLE };

const SCHEMAS: Record<Kind, JsonSchema> = {
  range: WHOLE,
  unitRange: { type: 'number' },
  switch: { type: 'boolean' },
  number: WHOLE,
  numbers: { anyOf: [WHOLE, { type: 'array', items: WHOLE, minItems: 1, maxItems: LIST_MOST }] },
  text: TEXT,
  texts: { anyOf: [TEXT, { type: 'array', items: TEXT, minItems: 1, maxItems: LIST_MOST }] },
};

const anyOf = (names: Iterable<string>) => `(?:${[...names].join('|')})`;
const inner = (pattern: RegExp) => pattern.source.slice(1, -1);

const RANGE_NAME = anyOf([
  ...[...RANGES].filter((name) => name !== 'unitValue'),
  inner(RANGE_METRIC),
  inner(MONTHLY_RANK),
]);

const PATTERNS: Record<Kind, string> = {
  range: `${RANGE_NAME}_(?:gte|lte)`,
  unitRange: 'unitValue_(?:gte|lte)',
  switch: anyOf([...SWITCHES, inner(SWITCH_METRIC)]),
  number: anyOf(NUMBERS),
  numbers: anyOf(NUMBER_LISTS),
  text: anyOf(TEXTS),
  texts: anyOf(TEXT_LISTS),
};

export const SORT_FIELD_PATTERN = `^(?:${anyOf(['unitValue', RANGE_NAME, ...NUMBERS, ...TEXTS, ...TEXT_LISTS])})$`;

const CENTS = 'in cents';
const TIMES_TEN = 'stars x 10';

/** Descriptions of the most used fields. */
const USUAL: Record<string, string> = {
  ...bounds('current_AMAZON', `The retailer's own price, ${CENTS}`),
  ...bounds('current_BUY_BOX_SHIPPING', `Buy Box price with shipping, ${CENTS}`),
  ...bounds('current_NEW', `Lowest new price, ${CENTS}`),
  ...bounds('current_USED', `Lowest used price, ${CENTS}`),
  ...bounds('current_SALES', 'Sales rank'),
  ...bounds('avg30_SALES', 'Mean sales rank of 30 days'),
  ...bounds('monthlySold', 'Units sold in the past month'),
  ...bounds('salesRankDrops30', 'Number of sales rank drops in 30 days'),
  categories_include: 'In one of these categories',
  categories_exclude: 'In none of these categories',
  rootCategory: 'Below one of these root categories',
  brand: 'Of one of these brands',
  productType: 'Of one of these types: 0 standard, 1 downloadable, 2 e-book, 5 variation parent',
  ...bounds('current_RATING', `Rating, ${TIMES_TEN}`),
  ...bounds('current_COUNT_REVIEWS', 'Number of reviews'),
  hasReviews: 'Whether products have reviews',
  ...bounds('deltaPercent30_BUY_BOX_SHIPPING', 'Change of the Buy Box price in 30 days, in percent'),
  isLowest_BUY_BOX_SHIPPING: 'Whether the Buy Box price is the lowest ever',
  title: 'Words in the title',
};

/** Schema of a selection's filters. */
export const FILTERS_SCHEMA: JsonSchema = {
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(USUAL).map(([name, description]) => [name, { ...schemaOf(name), description }]),
  ),
  patternProperties: Object.fromEntries(
    Object.entries(PATTERNS).map(([kind, pattern]) => [`^${pattern}$`, SCHEMAS[kind as Kind]]),
  ),
  additionalProperties: false,
  minProperties: 1,
  examples: [{ current_SALES_lte: 5000, current_RATING_gte: 40 }],
};

function bounds(field: string, description: string): Record<string, string> {
  return { [`${field}_gte`]: `${description}; minimum`, [`${field}_lte`]: `${description}; maximum` };
}

function schemaOf(name: string): JsonSchema {
  const kind = kindOf(name);
  if (!kind) throw new Error(`${name} is not a field of the finder`);
  return SCHEMAS[kind];
}
