import { asinOfLeaf, factsOf } from '../catalog/asins.ts';
import { LEAF_COUNT, pathOfLeaf } from '../catalog/categories.ts';
import { curveAt, fractionOf, hashOf, plus, stateAfter } from '../catalog/random.ts';
import { labelOf } from '../catalog/sketch.ts';
import { termAt } from './vocabulary.ts';

/** One term of a generated week. */
export interface RankedTerm {
  rank: number;
  term: string;
  brands: readonly string[];
  categories: readonly string[];
  /** Shares in percent; a conversion share may be blank. */
  products: { asin: string; title: string; click: number; conversion: number | null }[];
}

interface RankingRequest {
  site: string;
  /** Number of the week since 1970. */
  week: number;
  terms: number;
  /** Number of products of each leaf that get clicks. */
  productsPerLeaf: number;
}

/** The vocabulary has `terms / SPARE` more terms than a week's ranking, so that some are missing each week. */
const SPARE = 8;
/** Interest in a term changes its direction after about as many weeks. */
const DRIFT_WEEKS = 10;

/** Precomputed hash states: a week may need twenty hashes for each of a million terms, see `plus`. */
const NOISE = stateAfter('noise');
const MOVER = stateAfter('mover');
const DRIFT = stateAfter('drift');
const CLICKED = stateAfter('clicked');
const CLICK = stateAfter('click');
const CONVERSION = stateAfter('conversion');
const BLANK = stateAfter('blank');
const BRANDLESS = stateAfter('brandless');

/**
 * Generates the ranking of a week, always the same: most terms move little from week to week, some rise and fall for
 * weeks, and those near the end appear and disappear.
 */
export function* rankingOf({ site, week, terms, productsPerLeaf }: RankingRequest): Generator<RankedTerm> {
  const total = terms + Math.ceil(terms / SPARE) + 20;
  const scores = new Float64Array(total);
  const order: number[] = [];
  for (let n = 0; n < total; n += 1) {
    scores[n] = scoreOf(n, week);
    order.push(n);
  }
  order.sort((a, b) => (scores[a] ?? 0) - (scores[b] ?? 0));
  for (let i = 0; i < Math.min(terms, order.length); i += 1)
    yield describe({ site, week, productsPerLeaf }, order[i] ?? 0, i + 1);
}

function scoreOf(n: number, week: number): number {
  const noise = (fractionOf(plus(plus(NOISE, n), week)) - 0.5) * 0.06;
  const isMover = hashOf(plus(MOVER, n)) % 4 === 0;
  return (n + 1) * Math.exp(noise + (isMover ? 0.5 : 0.1) * curveAt(plus(DRIFT, n), week / DRIFT_WEEKS));
}

function describe(
  { site, week, productsPerLeaf }: Omit<RankingRequest, 'terms'>,
  n: number,
  rank: number,
): RankedTerm {
  const { term, leaf } = termAt(site, n);
  const [clicked, click, conversion] = [plus(CLICKED, n), plus(CLICK, n), plus(CONVERSION, n)];
  const isBlank = hashOf(plus(BLANK, n)) % 33 === 0;
  const asins: string[] = [];
  const brands: string[] = [];
  const products: RankedTerm['products'] = [];
  let left = 60;
  for (let i = 0; i < 3; i += 1) {
    const { asin, title, brand } = productOf(leaf, hashOf(plus(clicked, i)) % productsPerLeaf);
    if (asins.includes(asin)) continue;
    const place = asins.length;
    asins.push(asin);
    if (!brands.includes(brand)) brands.push(brand);
    const [usual, lately] = [plus(click, place), plus(plus(click, place), week)].map(fractionOf);
    const share = Math.round(left * (0.9 * (usual ?? 0) + 0.1 * (lately ?? 0)) * 50) / 100;
    left = Math.min(left, share * 2) * 0.9;
    const bought = Math.round(share * fractionOf(plus(conversion, place)) * 150) / 100;
    products.push({ asin, title, click: share, conversion: isBlank ? null : bought });
  }
  products.sort((a, b) => b.click - a.click);
  if (hashOf(plus(BRANDLESS, n)) % 8 === 0) brands.pop();
  return { rank, term, brands, categories: CATEGORIES[leaf] ?? [], products };
}

/** The category name in reports, by leaf. */
const CATEGORIES = Array.from({ length: LEAF_COUNT }, (_, leaf) =>
  pathOfLeaf(leaf)
    .slice(0, 2)
    .map(({ name }) => name),
);

interface Product {
  asin: string;
  title: string;
  brand: string;
}

/** Caches products by leaf and number, since a week repeats the same few thousand. */
const products: Product[][] = Array.from({ length: LEAF_COUNT }, () => []);

function productOf(leaf: number, n: number): Product {
  const found = products[leaf]?.[n];
  if (found) return found;
  const asin = asinOfLeaf(leaf, n);
  const { title, brand } = labelOf(factsOf(asin));
  const made = { asin, title, brand };
  const ofLeaf = products[leaf];
  if (ofLeaf) ofLeaf[n] = made;
  return made;
}
