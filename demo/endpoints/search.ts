import { asinOfLeaf } from '../catalog/asins.ts';
import { allCategories, allLeaves, type Leaf, leafAt } from '../catalog/categories.ts';
import { productOf } from '../catalog/products.ts';
import { sketch } from '../catalog/sketch.ts';
import {
  domainOf,
  type Endpoint,
  type EndpointAnswer,
  type EndpointRequest,
  integerOf,
  invalidParameter,
  isOn,
  required,
} from '../protocol.ts';
import { categoryRecord } from './category.ts';
import { productRequest } from './product.ts';

const PAGE = 10;
const LIMIT = 100;

/** Number of titles to search in each leaf. */
const TITLES_A_LEAF = 60;

export const search: Endpoint = (request) => {
  if (request.params.type === 'product') return products(request);
  if (request.params.type === 'category') return categories(request);
  throw invalidParameter();
};

function products({ params, nowMinutes }: EndpointRequest): EndpointAnswer {
  const domain = domainOf(params);
  const words = wordsOf(required(params.term));
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

function categories({ params }: EndpointRequest): EndpointAnswer {
  const domain = domainOf(params);
  const words = wordsOf(required(params.term));
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
      if (found.push(asin) === LIMIT) return found;
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
function wordsOf(term: string): string[] {
  const words = term.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) throw invalidParameter();
  return words.map((word) => (/[^s]s$/.test(word) && word.length > 3 ? word.slice(0, -1) : word));
}
