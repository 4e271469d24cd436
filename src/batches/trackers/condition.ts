import { z } from 'zod';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { exactObject } from '../../operations/params/request.ts';
import { integer, oneOf, oneOfNumbers } from '../../operations/params/scalars.ts';
import { priceFormat, priceOf } from '../../operations/products/provider-fields.ts';
import type { AlertView } from './alert.ts';

const PRODUCT_CONDITIONS = [
  'price_below',
  'price_drop',
  'sales_rank_below',
  'sales_rank_above',
  'rating_below',
  'buy_box_owner',
  'back_in_stock',
] as const;
const KEYWORD_CONDITIONS = ['keyword_rank_below', 'keyword_rank_above'] as const;
const CONDITION_TYPES = [...PRODUCT_CONDITIONS, ...KEYWORD_CONDITIONS] as const;
/** What alerts about a screen say; a tracker with a screen has no conditions. */
const SCREEN_EVENTS = ['screen_entered', 'screen_left'] as const;

const TRACKED_PRICES = ['amazon', 'new', 'used', 'buyBox'] as const;

export const MOST_CONDITIONS = 10;

type ConditionType = (typeof CONDITION_TYPES)[number] | (typeof SCREEN_EVENTS)[number];
export type TrackedPrice = (typeof TRACKED_PRICES)[number];

/** A statement about a product or a keyword. A tracker raises an alert when it becomes true. */
export interface Condition {
  type: ConditionType;
  /** Of conditions on a price. */
  price?: TrackedPrice | undefined;
  /** The bound: a price, a rank, a rating, or the percentage of a drop. */
  value?: number | undefined;
  /** The days of the average that a price drops below. */
  days?: 30 | 90 | undefined;
}

const TYPES_IN_WORDS =
  'price_below, price_drop (by value percent below the average of days), sales_rank_below, sales_rank_above, rating_below, buy_box_owner (it changes), back_in_stock, keyword_rank_below or keyword_rank_above';

const LARGEST_VALUE = 2_000_000_000;

const fields = {
  type: oneOf(CONDITION_TYPES).describe(`What becomes true: ${TYPES_IN_WORDS}`),
  price: oneOf(TRACKED_PRICES)
    .optional()
    .describe('The price of price_below, price_drop and back_in_stock; default: new'),
  value: integer({ min: 1, max: LARGEST_VALUE })
    .optional()
    .meta({
      description:
        'The bound: a price in cents (for JP in whole yen), a rank, stars x 10, or the percentage of a drop',
      examples: [1999],
    }),
  days: oneOfNumbers([30, 90]).optional().describe('Days of the average of price_drop; default: 90'),
};

/** A condition as it is sent. */
export const newConditionSchema = exactObject(fields, {
  problem: 'must be an object such as {"type": "price_below", "value": 1999}',
})
  .superRefine((condition, context) => {
    for (const [parameter, message] of problemsOf(condition))
      context.addIssue({ code: 'custom', path: [parameter], message });
  })
  .transform(withDefaults);

/** A condition as it is shown. */
export const conditionSchema = z
  .object({
    type: z.enum([...CONDITION_TYPES, ...SCREEN_EVENTS]),
    price: z.enum(TRACKED_PRICES).optional(),
    value: z.int().optional(),
    days: z.literal([30, 90]).optional(),
  })
  .register(SCHEMA_NAMES, { id: 'TrackerCondition' });

/** Identifies a condition by its content, so that it keeps its state when other conditions change. */
export function conditionKey({ type, price, value, days }: Condition): string {
  return [type, price, value, days].join(':');
}

export function isAboutKeywords({ type }: Condition): boolean {
  return [...KEYWORD_CONDITIONS, ...SCREEN_EVENTS].some((one) => one === type);
}

/** Conditions without a bound. */
const WITHOUT_VALUE: readonly ConditionType[] = ['buy_box_owner', 'back_in_stock'];
const WITH_PRICE: readonly ConditionType[] = ['price_below', 'price_drop', 'back_in_stock'];

/** The highest values that can be crossed. */
const HIGHEST: Partial<Record<ConditionType, number>> = { price_drop: 99, rating_below: 50 };

function problemsOf({ type, price, value, days }: Condition): [parameter: string, problem: string][] {
  const problems: [string, string][] = [];
  const highest = HIGHEST[type] ?? LARGEST_VALUE;
  if (WITHOUT_VALUE.includes(type) && value !== undefined)
    problems.push(['value', `must not be sent with ${type}`]);
  if (!WITHOUT_VALUE.includes(type) && value === undefined)
    problems.push(['value', `is required: it must be an integer from 1 to ${highest}`]);
  if (value !== undefined && value > highest)
    problems.push(['value', `must be an integer from 1 to ${highest} with ${type}, got ${value}`]);
  if (!WITH_PRICE.includes(type) && price !== undefined)
    problems.push(['price', `must not be sent with ${type}`]);
  if (type !== 'price_drop' && days !== undefined) problems.push(['days', `must not be sent with ${type}`]);
  return problems;
}

function withDefaults({ type, price = 'new', value, days = 90 }: Condition): Condition {
  return {
    type,
    ...(WITH_PRICE.includes(type) ? { price } : {}),
    ...(value === undefined ? {} : { value }),
    ...(type === 'price_drop' ? { days } : {}),
  };
}

const NUMBER = new Intl.NumberFormat('en');

const PRICE_NAMES: Record<TrackedPrice, string> = {
  amazon: 'Retailer price',
  new: 'New price',
  used: 'Used price',
  buyBox: 'Buy Box price',
};

export const PRICE_OPTIONS = Object.entries(PRICE_NAMES);

/** Returns a condition in words, such as `New price below $19.99`. */
export function conditionText(condition: Condition, domain: number): string {
  const { type, price = 'new', value = 0, days = 90 } = condition;
  const name = PRICE_NAMES[price];
  const bound = valueText(condition, value, domain);
  switch (type) {
    case 'price_below':
      return `${name} below ${bound}`;
    case 'price_drop':
      return `${name} over ${value} % below the average of ${days} days`;
    case 'sales_rank_below':
      return `Sales rank below ${bound}`;
    case 'sales_rank_above':
      return `Sales rank above ${bound}`;
    case 'rating_below':
      return `Rating below ${bound}`;
    case 'buy_box_owner':
      return 'Buy Box owner changes';
    case 'back_in_stock':
      return `${name}: back in stock`;
    case 'keyword_rank_below':
      return `Keyword rank below ${bound}`;
    case 'keyword_rank_above':
      return `Keyword rank above ${bound}`;
    case 'screen_entered':
      return 'Entered';
    case 'screen_left':
      return 'Left';
  }
}

/** Returns a value of a condition in words: a price, a rank, a rating or a seller. */
export function valueText({ type }: Condition, value: AlertView['before'], domain: number): string {
  if (value === null) return type === 'back_in_stock' ? 'out of stock' : 'unknown';
  if (typeof value === 'string') return value;
  if (type.startsWith('price_') || type === 'back_in_stock')
    return new Intl.NumberFormat('en', priceFormat(domain)).format(priceOf(value, domain) ?? 0);
  return type === 'rating_below' ? String(value / 10) : NUMBER.format(value);
}
