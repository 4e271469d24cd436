import { asinOfLeaf } from '../catalog/asins.ts';
import { allCategories, LEAF_COUNT, pathOfLeaf } from '../catalog/categories.ts';
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
  const found = allCategories().filter(({ name }) =>
    words.every((word) => name.toLowerCase().includes(word)),
  );
  const records = found.slice(0, 50).map((node) => [node.catId, categoryRecord(node, domain)]);
  return { payload: { categories: Object.fromEntries(records) }, tokens: 1 };
}

function matchingAsins(words: readonly string[], domain: number): string[] {
  const found: string[] = [];
  for (const leaf of leavesAbout(words)) {
    for (let n = 0; n < TITLES_A_LEAF && found.length < LIMIT; n += 1) {
      const asin = asinOfLeaf(leaf, n);
      const title = sketch(asin, domain).title.toLowerCase();
      if (words.every((word) => title.includes(word))) found.push(asin);
    }
  }
  return found;
}

/** Returns the leaves whose category names contain a word of the term; all leaves if none does, as for a brand. */
function leavesAbout(words: readonly string[]): number[] {
  const all = Array.from({ length: LEAF_COUNT }, (_, leaf) => leaf);
  const named = all.filter((leaf) => {
    const about = pathOfLeaf(leaf)
      .map(({ name }) => name.toLowerCase())
      .join(' ');
    return words.some((word) => about.includes(word));
  });
  return named.length > 0 ? named : all;
}

function wordsOf(term: string): string[] {
  const words = term.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) throw invalidParameter();
  return words;
}
