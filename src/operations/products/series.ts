/**
 * The number of entries in csv and in each array of the stats. Upstream had 34 before February 2026, and data stored
 * before then still has.
 */
export const SERIES_COUNT = 36;

/** The indices of series in csv, in the stats and in deals. */
export const SERIES = {
  AMAZON: 0,
  NEW: 1,
  SALES: 3,
  LISTPRICE: 4,
  COUNT_NEW: 11,
  RATING: 16,
  COUNT_REVIEWS: 17,
  BUY_BOX_SHIPPING: 18,
} as const;

/** The csv series whose points are [time, price, shipping]; all others are [time, value]. */
const WITH_SHIPPING = new Set([7, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 32]);

/** Returns the number of entries in one point of a csv series. */
export function pointWidth(seriesIndex: number): 2 | 3 {
  return WITH_SHIPPING.has(seriesIndex) ? 3 : 2;
}
