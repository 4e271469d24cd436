import { onePerFamily } from '../catalog/asins.ts';
import { leavesBelow, pathOfLeaf } from '../catalog/categories.ts';
import { trackingSince } from '../catalog/popularity.ts';
import { historyOf } from '../catalog/series.ts';
import { listedProducts, type ProductSketch, sketch } from '../catalog/sketch.ts';
import { ofSpans, rankDropsOf, toPoints, valueAtTime } from '../catalog/stats.ts';
import { DAY, remembered } from '../minutes.ts';
import { domainOf, type Endpoint, invalidParameter, outOfRange, selectionOf } from '../protocol.ts';

const PAGE = 150;
const POOL_SIZE = 4_000;
const YEAR_DAYS = 365;

/** Days of the four date ranges. */
const SPANS = [1, 7, 31, 90] as const;

const PRICE_TYPES = new Set([0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 18, 19, 20, 21, 22, 32, 33]);

/** The category of products without a category; its id exceeds 2^53. */
const BLANK_CATEGORY = '9223372036854775807';

export const deal: Endpoint = (request) => {
  const selection = selectionOf(request);
  const domain = domainOf({
    domain: `${(selection.domainId as number | undefined) ?? request.params.domain}`,
  });
  // Some clients send a number instead of a list, or none.
  const [priceType, ...others] = [selection.priceTypes ?? 0].flat() as number[];
  if (priceType === undefined || others.length > 0 || !PRICE_TYPES.has(priceType)) throw invalidParameter();
  const page = wholeNumber(selection.page ?? 0, 0, 1_000);
  const dateRange = wholeNumber(selection.dateRange ?? 1, 0, 3);
  const sortType = wholeNumber(selection.sortType ?? 4, -4, 4);
  const { nowMinutes } = request;

  const candidates = candidatesOf(domain, priceType, dateRange, nowMinutes).filter(
    (found) => passesRanges(selection, found) && passesFilters(selection, found, nowMinutes),
  );
  const inCategories = candidates.filter(({ product }) => passesCategories(selection, product));
  const isSingle = selection.isFilterEnabled === true && selection.singleVariation === true;
  const sorted = inCategories.sort(orderOf(sortType));
  const shown = (isSingle ? onePerFamily(sorted, ({ product }) => product.facts) : sorted).slice(
    page * PAGE,
    (page + 1) * PAGE,
  );

  const counts = new Map<number, number>();
  for (const { product } of candidates) {
    const root = product.categoryIds[0] ?? 0;
    counts.set(root, (counts.get(root) ?? 0) + 1);
  }
  const names = [...counts.keys()].map((root) => pathOfLeaf(leavesBelow(root)[0] ?? 0)[0]?.name);
  // Like upstream's, the answer contains the blank category; its id is written as digits to keep its value.
  const payloadText = [
    `"dealsCached":false,"deals":{"dr":[${shown.map(({ product }) => recordText(product.asin, domain, nowMinutes)).join(',')}]`,
    `"drDateIndex":[]`,
    `"categoryIds":[${[...counts.keys(), BLANK_CATEGORY].join(',')}]`,
    `"categoryNames":${JSON.stringify([...names, '?'])}`,
    `"categoryCount":[${[...counts.values(), 0].join(',')}]}`,
  ].join(',');
  return { payloadText, tokens: 5 };
};

function wholeNumber(value: unknown, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value)) throw invalidParameter();
  if (value < min || value > max) throw outOfRange();
  return value;
}

interface Candidate {
  product: ProductSketch;
  priceType: number;
  now: number;
  drop: number;
  /** Returns the last change. */
  lastDrop(): number;
  percent: number;
  rank: number;
}

/** Returns the products whose price was reduced. It remembers those of the selections that were asked for last. */
const candidatesOf = remembered(
  8,
  (domain: number, priceType: number, dateRange: number, at: number): readonly Candidate[] => {
    const before = at - (SPANS[dateRange] ?? 7) * DAY;
    return listedProducts(domain, POOL_SIZE)
      .map((product) => {
        const [was, now] = [product.current(priceType, before), product.current(priceType, at)];
        const [drop, rank] = [difference(was, now), product.current(3, at)];
        const lastDrop = () => difference(product.previous(priceType, at), now);
        return { product, priceType, now, drop, lastDrop, percent: was > 0 ? (100 * drop) / was : 0, rank };
      })
      .filter(({ now, drop }) => now > 0 && drop > 0);
  },
);

/** Returns the earlier minus the current value: positive means cheaper, or a better rank. 0 if one is unknown. */
function difference(before: number, now: number): number {
  return before > 0 && now > 0 ? before - now : 0;
}

function passesRanges(selection: Record<string, unknown>, found: Candidate): boolean {
  const { now, drop, lastDrop, percent, rank } = found;
  if (selection.isRangeEnabled !== true) return true;
  return (
    within(selection.currentRange, now) &&
    within(selection.deltaRange, drop) &&
    within(selection.deltaPercentRange, percent) &&
    within(selection.salesRankRange, rank) &&
    (!Array.isArray(selection.deltaLastRange) || within(selection.deltaLastRange, lastDrop()))
  );
}

function passesFilters(
  selection: Record<string, unknown>,
  { product, priceType, now }: Candidate,
  nowMinutes: number,
): boolean {
  const words =
    typeof selection.titleSearch === 'string' ? selection.titleSearch.toLowerCase().split(/\s+/) : [];
  if (!words.every((word) => product.title.toLowerCase().includes(word))) return false;
  if (selection.isFilterEnabled !== true) return true;
  const { minRating, isLowest, isLowestOffer, isOutOfStock } = selection;
  return (
    (typeof minRating !== 'number' || product.current(16, nowMinutes) >= minRating) &&
    (isLowest !== true || product.isLowest(priceType, nowMinutes)) &&
    (isLowestOffer !== true || now <= product.current(1, nowMinutes)) &&
    // A product with a price is in stock.
    isOutOfStock !== true
  );
}

function passesCategories(
  { includeCategories, excludeCategories }: Record<string, unknown>,
  { categoryIds }: ProductSketch,
): boolean {
  const holds = (list: unknown) => Array.isArray(list) && list.some((id) => categoryIds.includes(Number(id)));
  const included =
    !Array.isArray(includeCategories) || includeCategories.length === 0 || holds(includeCategories);
  return included && !holds(excludeCategories);
}

function within(range: unknown, value: number): boolean {
  if (!Array.isArray(range)) return true;
  const [min, max] = range as [number, number];
  return value >= min && (max === -1 || value <= max);
}

function orderOf(sortType: number): (a: Candidate, b: Candidate) => number {
  const sign = sortType < 0 ? -1 : 1;
  switch (Math.abs(sortType)) {
    case 2:
      return (a, b) => sign * (b.drop - a.drop);
    case 3:
      return (a, b) => sign * (a.rank - b.rank);
    default:
      return (a, b) => sign * (b.percent - a.percent);
  }
}

/** Returns a record as JSON. It remembers those that were shown last: a record reads the history of a year. */
const recordText = remembered(1_000, (asin: string, domain: number, now: number): string =>
  JSON.stringify(dealRecord(sketch(asin, domain), now)),
);

function dealRecord(product: ProductSketch, now: number): Record<string, unknown> {
  const { asin, title, categoryIds, imageName, facts, popularity } = product;
  const from = Math.max(trackingSince(facts), now - YEAR_DAYS * DAY);
  const points = historyOf(popularity, from, now).csv.map((series, index) => toPoints(series, index));
  const current = points.map((of) => of.at(-1)?.[1] ?? -1);
  const before = SPANS.map((span) => points.map((of) => valueAtTime(of, now - span * DAY)));
  const drops = (earlier: readonly number[]) =>
    current.map((value, i) => difference(earlier[i] ?? -1, value));
  return {
    asin,
    parentAsin: facts.family?.parent ?? null,
    flags: null,
    title,
    rootCat: categoryIds[0],
    categories: [categoryIds[2]],
    image: [...Buffer.from(imageName, 'latin1')],
    current,
    currentSince: points.map((of) => ((of.at(-1)?.[1] ?? -1) > 0 ? (of.at(-1)?.[0] ?? -1) : -1)),
    deltaLast: drops(points.map((of) => of.at(-2)?.[1] ?? -1)),
    delta: before.map(drops),
    deltaPercent: before.map((earlier) =>
      drops(earlier).map((drop, i) =>
        (earlier[i] ?? 0) > 0 ? Math.round((100 * drop) / (earlier[i] ?? 1)) : 0,
      ),
    ),
    avg: before,
    creationDate: now - 30,
    lastUpdate: now - 5,
    lightningStart: 0,
    lightningEnd: 0,
    warehouseCondition: 0,
    warehouseConditionComment: null,
    backInStock: current.map(() => false),
    dateIntervalIndex: 0,
    ...ofSpans('salesRankDrops', (days) => rankDropsOf(points[3] ?? [], now - days * DAY)),
  };
}
