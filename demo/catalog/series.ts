import type { AsinFacts } from './asins.ts';
import { timesBetween } from './beats.ts';
import { changesOf, MARKET_SERIES, type Market, type Quote, quoteAt, quotesAt, stateOf } from './market.ts';
import { type Popularity, popularityOf, rankAt, ratingAt, reviewsAt } from './popularity.ts';

export interface History {
  /** Points [time, value] or [time, price, shipping] at which a value changed, by csv index; null for no series. */
  csv: (number[] | null)[];
  /** Who had the buy box of new items from a time on, and that of used ones. */
  boxes: BoxChange[];
  usedBoxes: BoxChange[];
}

export interface BoxChange {
  time: number;
  quote: Quote | null;
}

/**
 * Returns the history of a period; it begins with the values that were valid then.
 * @param only the csv index of the one series that is needed, to save time; others may be missing.
 */
export function historyOf(popularity: Popularity, from: number, to: number, only?: number): History {
  const { facts, market, ranked, reviewed } = popularity;
  const history: History = { csv: Array<null>(36).fill(null), boxes: [], usedBoxes: [] };
  const { csv } = history;
  if (only === undefined || only === 3)
    for (const time of [from, ...timesBetween(ranked, from, to)])
      add(csv, 3, time, [rankAt(popularity, time)]);
  // The parent of a family cannot be bought.
  if (facts.kind !== 'product' || only === 3) return history;
  add(csv, 4, from, [market.listPrice]);
  if (only === undefined || only === 16 || only === 17)
    for (const time of [from, ...timesBetween(reviewed, from, to)]) {
      add(csv, 16, time, [ratingAt(popularity, time)]);
      add(csv, 17, time, [reviewsAt(popularity, time)]);
    }
  if (only === undefined || MARKET_SERIES.some((index) => index === only))
    addMarket(history, market, from, to);
  return history;
}

function addMarket(history: History, market: Market, from: number, to: number): void {
  const quotes = market.listings.map((listing) => quoteAt(market, listing, from));
  note(history, from, quotes);
  const changes = market.listings
    .flatMap((listing, i) => changesOf(listing, from, to).map((time) => [time, i] as const))
    .sort(([a], [b]) => a - b);
  let isNew = false;
  for (const [n, [time, i]] of changes.entries()) {
    const listing = market.listings[i];
    const quote = listing ? quoteAt(market, listing, time) : null;
    isNew ||= quote?.price !== quotes[i]?.price;
    quotes[i] = quote;
    if (!isNew || changes[n + 1]?.[0] === time) continue;
    note(history, time, quotes);
    isNew = false;
  }
}

function note({ csv, boxes, usedBoxes }: History, time: number, quotes: readonly (Quote | null)[]): void {
  const { values, box, usedBox } = stateOf(quotes.filter((quote) => quote !== null));
  for (const [i, index] of MARKET_SERIES.entries()) add(csv, index, time, values[i] ?? []);
  noteBox(boxes, time, box);
  noteBox(usedBoxes, time, usedBox);
}

function noteBox(boxes: BoxChange[], time: number, quote: Quote | null): void {
  if (boxes.length === 0 || boxes.at(-1)?.quote?.listing !== quote?.listing) boxes.push({ time, quote });
}

/** Adds a point if the values have changed. */
function add(csv: History['csv'], index: number, time: number, values: readonly number[]): void {
  const points = csv[index] ?? [];
  csv[index] = points;
  if (points.at(-1) !== values.at(-1) || points.at(-values.length) !== values[0])
    points.push(time, ...values);
}

/** Returns the values of all series at a time, by csv index, with price and shipping as one number; -1 means no value. */
export function valuesAt(popularity: Popularity, minutes: number): number[] {
  const values = Array<number>(36).fill(-1);
  values[3] = rankAt(popularity, minutes);
  if (popularity.facts.kind !== 'product') return values;
  values[4] = popularity.market.listPrice;
  values[16] = ratingAt(popularity, minutes);
  values[17] = reviewsAt(popularity, minutes);
  for (const [i, [value = -1, shipping = 0]] of stateOf(
    quotesAt(popularity.market, minutes),
  ).values.entries())
    values[MARKET_SERIES[i] ?? 0] = value < 0 ? -1 : value + shipping;
  return values;
}

/** Returns the rank of a product in its root category at a time, without its other series. */
export function rootRank(facts: AsinFacts, domain: number, minutes: number): number {
  return rankAt(popularityOf(facts, domain), minutes);
}

/** Returns the rank of a product in a category of its path; deeper categories have better ranks. */
export function categoryRank(rootRank: number, depth: number): number {
  return Math.max(1, Math.round(rootRank / 12 ** depth));
}
