import { DAY_MS } from '../../src/platform/durations.ts';
import { asinOfCode, asinOfLeaf } from '../catalog/asins.ts';
import { allCategories, allLeaves, type Leaf, leafAt } from '../catalog/categories.ts';
import { type ProductRequest, productOf } from '../catalog/products.ts';
import { sketch } from '../catalog/sketch.ts';
import {
  domainOf,
  type Endpoint,
  type EndpointAnswer,
  type EndpointRequest,
  integerOf,
  invalidParameter,
  isOn,
  type Params,
  required,
} from '../protocol.ts';
import { categoryRecord } from './category.ts';

const DAYS = { min: 1, max: 100_000 };

export const product: Endpoint = ({ params, nowMinutes }) => {
  const request = productRequest(params, nowMinutes);
  if (params.asin !== undefined && params.code !== undefined) throw invalidParameter();
  const asins = params.asin === undefined ? asinsOfCodes(required(params.code)) : splitAsins(params.asin);
  const update = integerOf(params.update, { min: -1, max: 100_000 });
  const products = asins
    .map((asin) => productOf(asin, request))
    .filter((found) => found !== null && !(update === -1 && found.productType === 4));
  const known = products.filter((found) => found?.productType !== 4);
  const tokens = known.reduce((sum, found) => sum + tokensOf(found?.offers, request, update), 0);
  return { payload: { products }, tokens };
};

/** Reads the options of a product call that a search shares. */
function productRequest(params: Params, nowMinutes: number): ProductRequest {
  return {
    domain: domainOf(params),
    nowMinutes,
    statsDays: statsDays(params.stats),
    history: params.history === undefined || isOn(params.history),
    days: integerOf(params.days, DAYS),
    offers: integerOf(params.offers, { min: 20, max: 100 }) ?? 0,
    onlyLiveOffers: isOn(params['only-live-offers']),
    rating: isOn(params.rating),
    buybox: isOn(params.buybox),
    stock: isOn(params.stock),
    videos: isOn(params.videos),
    aplus: isOn(params.aplus),
    historicalVariations: isOn(params['historical-variations']),
  };
}

/** Parses days, or an interval of two dates or times, of which the demo uses only the length. */
function statsDays(stats: string | undefined): number | null {
  if (stats === undefined) return null;
  if (/^\d+$/.test(stats)) return integerOf(stats, DAYS);
  const [from, to] = stats.split(',').map((end) => (/^\d+$/.test(end) ? Number(end) : Date.parse(end)));
  if (from === undefined || to === undefined || !(to >= from)) throw invalidParameter();
  return Math.max(1, Math.round((to - from) / DAY_MS));
}

function splitAsins(asin: string): string[] {
  const asins = [...new Set(asin.split(','))];
  if (asins.length > 100 || asins.some((entry) => !/^[A-Z0-9]{10}$/.test(entry))) throw invalidParameter();
  return asins;
}

/** Returns the ASINs of the products with these codes. */
function asinsOfCodes(codes: string): string[] {
  const written = codes.split(',');
  if (written.length > 100) throw invalidParameter();
  return [...new Set(written.flatMap((code) => asinOfCode(code) ?? []))];
}

/** Returns the tokens of a call. An offers call costs tokens for each page of ten offers found. */
function tokensOf(found: unknown, { buybox, rating, stock }: ProductRequest, update: number | null): number {
  const offerCount = Array.isArray(found) ? found.length : 0;
  const extras = Number(rating) + (stock && offerCount > 0 ? 2 : 0) + Number(update === 0);
  return (offerCount > 0 ? 6 * Math.ceil(offerCount / 10) : 1 + (buybox ? 2 : 0)) + extras;
}

const PAGE = 10;
const MOST_FOUND = 100;

/** Number of titles to search in each leaf. */
const TITLES_A_LEAF = 60;

export const search: Endpoint = (request) => {
  if (request.params.type === 'product') return searchProducts(request);
  if (request.params.type === 'category') return searchCategories(request);
  throw invalidParameter();
};

function searchProducts({ params, nowMinutes }: EndpointRequest): EndpointAnswer {
  const domain = domainOf(params);
  const words = stemsOf(required(params.term));
  const page = integerOf(params.page, { min: 0, max: 9 });
  const asins = matchingAsins(words, domain);
  const shown = page === null ? asins.slice(0, 4 * PAGE) : asins.slice(page * PAGE, (page + 1) * PAGE);
  const tokens = 10 * (page === null ? 4 : 1);
  if (isOn(params['asins-only'])) return { payload: { asinList: shown }, tokens };
  // Ignored in a search.
  const { days: _days, offers: _offers, buybox: _buybox, stock: _stock, ...options } = params;
  const request = productRequest(options, nowMinutes);
  return { payload: { products: shown.map((asin) => productOf(asin, request)) }, tokens };
}

function searchCategories({ params }: EndpointRequest): EndpointAnswer {
  const domain = domainOf(params);
  const words = stemsOf(required(params.term));
  const found = allCategories().filter((node) => hasAll(node.name, words));
  const records = found
    .slice(0, 50)
    .map((node) => [node.catId, { ...categoryRecord(node, domain), matched: true }]);
  return { payload: { categories: Object.fromEntries(records) }, tokens: 1 };
}

/** Returns the products whose titles and categories contain all words, one from each leaf after the other. */
function matchingAsins(words: readonly string[], domain: number): string[] {
  const found: string[] = [];
  const leaves = leavesAbout(words);
  for (let n = 0; n < TITLES_A_LEAF; n += 1) {
    for (const leaf of leaves) {
      const asin = asinOfLeaf(leaf, n);
      if (!hasAll(`${sketch(asin, domain).title} ${aboutLeaf(leafAt(leaf))}`, words)) continue;
      if (found.push(asin) === MOST_FOUND) return found;
    }
  }
  return found;
}

/** Returns the leaves that have the most words of the term; all leaves if no leaf has one, as for the name of a brand. */
function leavesAbout(words: readonly string[]): number[] {
  // A leaf's own words count more than the names of its categories.
  const scores = allLeaves().map((leaf) =>
    words.reduce(
      (sum, word) =>
        sum + (hasAll(leaf.words.join(' '), [word]) ? 2 : Number(hasAll(aboutLeaf(leaf), [word]))),
      0,
    ),
  );
  const best = Math.max(...scores);
  return scores.flatMap((score, leaf) => (score === best ? leaf : []));
}

function aboutLeaf({ path, words }: Leaf): string {
  return [...path.map(({ name }) => name), ...words].join(' ');
}

function hasAll(text: string, words: readonly string[]): boolean {
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word));
}

/** Splits a term into words without the plural's s. */
function stemsOf(term: string): string[] {
  const words = term.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) throw invalidParameter();
  return words.map((word) => (/[^s]s$/.test(word) && word.length > 3 ? word.slice(0, -1) : word));
}
