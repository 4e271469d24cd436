import { asinOfLeaf } from '../catalog/asins.ts';
import { pathOfLeaf } from '../catalog/categories.ts';
import { fraction, hash } from '../catalog/random.ts';
import { sketch } from '../catalog/sketch.ts';
import { termAt } from './vocabulary.ts';

/** One term of a generated week. */
export interface RankedTerm {
  rank: number;
  term: string;
  brands: string[];
  categories: string[];
  /** Shares in percent; a conversion share may be blank. */
  products: { asin: string; title: string; click: number; conversion: number | null }[];
}

export interface RankingRequest {
  site: string;
  /** The provider's number of the site. */
  domain: number;
  /** Number of the week since 1970. */
  week: number;
  terms: number;
  /** How many products of each leaf are clicked at all. */
  productsPerLeaf: number;
}

/** Of so many terms there are, one in `terms + terms / SPARE` is away this week. */
const SPARE = 8;
/** Terms that come and go are away for some weeks in every so many. */
const SEASON_WEEKS = 13;

/**
 * The ranking of a week, always the same: most terms move little from week to week, some rise and fall in waves, some
 * come and go.
 */
export function* rankingOf(request: RankingRequest): Generator<RankedTerm> {
  const { site, week, terms } = request;
  const total = terms + Math.ceil(terms / SPARE) + 20;
  const scores = new Float64Array(total);
  const order: number[] = [];
  for (let n = 0; n < total; n += 1) {
    scores[n] = scoreOf(n, week);
    if (!isAway(n, week)) order.push(n);
  }
  order.sort((a, b) => (scores[a] ?? 0) - (scores[b] ?? 0));
  for (let i = 0; i < Math.min(terms, order.length); i += 1)
    yield describe(request, site, order[i] ?? 0, i + 1);
}

function isAway(n: number, week: number): boolean {
  return hash('season', n) % 5 === 0 && (week + hash('phase', n)) % SEASON_WEEKS < 4;
}

function scoreOf(n: number, week: number): number {
  const noise = (fraction('noise', n, week) - 0.5) * 0.06;
  const isMover = hash('mover', n) % 4 === 0;
  const wave = isMover ? 0.7 * Math.sin((week + (hash('wave', n) % 52)) / 2) : 0;
  return (n + 1) * Math.exp(noise + wave);
}

function describe(
  { domain, productsPerLeaf }: RankingRequest,
  site: string,
  n: number,
  rank: number,
): RankedTerm {
  const { term, leaf } = termAt(site, n);
  const clicked = [0, 1, 2].map((place) => asinOfLeaf(leaf, hash('clicked', n, place) % productsPerLeaf));
  const asins = [...new Set(clicked)];
  let left = 60;
  const products = asins.map((asin, place) => {
    const click = Math.round(left * fraction('click', n, place) * 50) / 100;
    left = Math.min(left, click * 2) * 0.9;
    const isBlank = hash('blank', n) % 33 === 0;
    const conversion = isBlank ? null : Math.round(click * fraction('conversion', n, place) * 150) / 100;
    return { asin, title: sketchOf(asin, domain).title, click, conversion };
  });
  products.sort((a, b) => b.click - a.click);
  const brands = [...new Set(asins.map((asin) => sketchOf(asin, domain).brand))];
  if (hash('brandless', n) % 8 === 0) brands.pop();
  return {
    rank,
    term,
    brands,
    categories: pathOfLeaf(leaf)
      .slice(0, 2)
      .map(({ name }) => name),
    products,
  };
}

/** Brand and title of the products that came by; a week has the same few thousand again and again. */
const sketches = new Map<string, { title: string; brand: string }>();
const MOST_SKETCHES = 200_000;

function sketchOf(asin: string, domain: number): { title: string; brand: string } {
  const found = sketches.get(asin);
  if (found) return found;
  const { title, brand } = sketch(asin, domain);
  if (sketches.size >= MOST_SKETCHES) sketches.clear();
  const made = { title, brand };
  sketches.set(asin, made);
  return made;
}
