import { isRecord } from '../../operations/params/request.ts';
import { firstImage } from '../../operations/products/detail-level.ts';
import type { Condition, TrackedPrice } from './condition.ts';

/** What a result says about a condition; null: nothing, because the data is missing. */
export type Reading =
  | {
      kind: 'compared';
      value: number | null;
      /** The number that the value crosses; null if the condition has none. */
      threshold: number | null;
      isMet: boolean;
      /** Whether the condition is false by the margin of the hysteresis. */
      isClear: boolean;
    }
  /** The condition becomes true when the value differs from the value before. */
  | { kind: 'identity'; value: string };

/** The places of values in the lists of the provider's statistics. */
const SERIES_OF: Record<TrackedPrice, number> = { amazon: 0, new: 1, used: 2, buyBox: 18 };
const SALES_RANK = 3;
const RATING = 16;

/** The fields of a product that `readingOf`, `titleOf` and `imageOf` use. */
export const PRODUCT_FIELDS = [
  'title',
  'images',
  'imagesCSV',
  'stats.current',
  'stats.avg30',
  'stats.avg90',
  'stats.buyBoxSellerId',
];

/** The fields of a search term that `readingOf` uses. */
export const KEYWORD_FIELDS = ['word.keyword', 'current.rank'];

/** Reads the result of one product or keyword. @param data of `market.product` for one ASIN, or of `aba.word`. */
export function readingOf(
  { type, price = 'new', value: bound = 0, days }: Condition,
  data: Record<string, unknown>,
  hysteresisPercent: number,
): Reading | null {
  const stats = statsOf(data);
  const current = (series: number) => numberAt(stats.current, series);
  const below = (value: number | null, threshold: number | null) =>
    crossing(value, threshold, 'below', hysteresisPercent);
  const above = (value: number | null) => crossing(value, bound, 'above', hysteresisPercent);
  switch (type) {
    case 'price_below':
      return below(current(SERIES_OF[price]), bound);
    case 'price_drop': {
      const average = numberAt(days === 30 ? stats.avg30 : stats.avg90, SERIES_OF[price]);
      return below(current(SERIES_OF[price]), average === null ? null : (average * (100 - bound)) / 100);
    }
    case 'sales_rank_below':
      return below(current(SALES_RANK), bound);
    case 'sales_rank_above':
      return above(current(SALES_RANK));
    case 'rating_below':
      return below(current(RATING), bound);
    case 'buy_box_owner':
      return ownerOf(stats);
    case 'back_in_stock':
      return stockOf(stats, SERIES_OF[price]);
    case 'keyword_rank_below':
      return below(rankOf(data), bound);
    case 'keyword_rank_above':
      return above(rankOf(data));
    case 'screen_entered':
    case 'screen_left':
      return null;
  }
}

/** Returns the title of the product, or the search term. */
export function titleOf(data: Record<string, unknown>): string | null {
  const title = isRecord(data.word) ? data.word.keyword : productOf(data).title;
  return typeof title === 'string' ? storable(title) : null;
}

/** Returns the file name of the main picture of the product; null without one. */
export function imageOf(data: Record<string, unknown>): string | null {
  const { images, imagesCSV } = productOf(data);
  const name = firstImage({
    asin: '',
    ...(Array.isArray(images) && images.every(isRecord) ? { images } : {}),
    ...(typeof imagesCSV === 'string' ? { imagesCSV } : {}),
  });
  return typeof name === 'string' ? storable(name) : null;
}

function crossing(
  value: number | null,
  threshold: number | null,
  side: 'below' | 'above',
  hysteresisPercent: number,
): Reading | null {
  if (value === null || threshold === null) return null;
  const margin = (threshold * hysteresisPercent) / 100;
  return side === 'below'
    ? { kind: 'compared', value, threshold, isMet: value < threshold, isClear: value >= threshold + margin }
    : { kind: 'compared', value, threshold, isMet: value > threshold, isClear: value <= threshold - margin };
}

/** The provider sends -1 for a price without an offer. Other negative numbers and absent statistics are missing data. */
function stockOf({ current }: Record<string, unknown>, series: number): Reading | null {
  const entry: unknown = Array.isArray(current) ? current[series] : undefined;
  if (typeof entry !== 'number' || entry < -1) return null;
  const isMet = entry >= 0;
  return { kind: 'compared', value: isMet ? entry : null, threshold: null, isMet, isClear: !isMet };
}

function ownerOf({ buyBoxSellerId: id }: Record<string, unknown>): Reading | null {
  // The provider sends -1 or -2 for a Buy Box without an owner.
  if (typeof id !== 'string' || id === '' || id.startsWith('-')) return null;
  return { kind: 'identity', value: storable(id) };
}

function rankOf({ current }: Record<string, unknown>): number | null {
  const rank = isRecord(current) ? current.rank : null;
  return typeof rank === 'number' && rank > 0 ? rank : null;
}

function productOf({ products }: Record<string, unknown>): Record<string, unknown> {
  const [product] = Array.isArray(products) ? products : [];
  return isRecord(product) ? product : {};
}

function statsOf(data: Record<string, unknown>): Record<string, unknown> {
  const { stats } = productOf(data);
  return isRecord(stats) ? stats : {};
}

/** Returns an entry of a list of the statistics; null without data, which the provider sends as a negative number. */
function numberAt(values: unknown, index: number): number | null {
  const entry: unknown = Array.isArray(values) ? values[index] : undefined;
  return typeof entry === 'number' && entry >= 0 ? entry : null;
}

const LONGEST_TEXT = 500;

/** Returns a text that PostgreSQL can store. */
function storable(text: string): string {
  return text.slice(0, LONGEST_TEXT).replace(/[\p{Cc}\p{Cs}]/gu, ' ');
}
