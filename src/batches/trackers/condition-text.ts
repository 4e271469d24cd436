import { priceFormat, priceOf } from '../../operations/products/site-prices.ts';
import type { AlertView } from './alert.ts';
import type { Condition, TrackedPrice } from './condition.ts';

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
