import { LRUCache } from 'lru-cache';
import { asinOfLeaf, factsOf } from '../catalog/asins.ts';
import { leavesBelow, rootCategories } from '../catalog/categories.ts';
import { rootRank } from '../catalog/series.ts';
import { HOUR } from '../minutes.ts';
import {
  categoryIdOf,
  domainOf,
  type Endpoint,
  integerOf,
  invalidParameter,
  isOn,
  outOfRange,
  required,
} from '../protocol.ts';

const LONGEST_LIST = 20_000;
const ASINS_A_LEAF = 900;

const RANGES = new Set([0, 30, 90, 180]);

export const bestsellers: Endpoint = ({ params, nowMinutes }) => {
  const domain = domainOf(params);
  const category = required(params.category);
  const range = integerOf(params.range, { min: 0, max: 180 }) ?? 0;
  if (!RANGES.has(range) || domain === 12) throw outOfRange();
  if (isOn(params.sublist) && range > 0) throw invalidParameter();
  // Requests name product groups; here each root category has one.
  const group = rootCategories().find(({ name }) => name === category);
  const categoryId = group ? 0 : categoryIdOf(category);
  const leaves = leavesBelow(group?.catId ?? categoryId);
  if (leaves.length === 0) return { payload: {}, tokens: 0 };
  // Upstream rebuilds lists about every hour.
  const builtAt = nowMinutes - (nowMinutes % HOUR);
  const ranked = rankedAsins({ domain, leaves, at: builtAt - range * 24 * HOUR });
  // 0: one variation for each parent; 1: all of them.
  const asinList = isOn(params.variations) ? ranked : onePerFamily(ranked);
  return {
    payload: { bestSellersList: { domainId: domain, lastUpdate: builtAt, categoryId, asinList } },
    tokens: 50,
  };
};

/** The lists that were asked for last, by site, category and time. */
const rankedLists = new LRUCache<string, readonly string[]>({ max: 20 });

/** Returns the ASINs below some categories, those with the best rank at a time first. */
function rankedAsins(of: { domain: number; leaves: readonly number[]; at: number }): readonly string[] {
  const { domain, leaves, at } = of;
  const name = [domain, at, leaves.length, leaves[0]].join();
  const known = rankedLists.get(name);
  if (known) return known;
  const each = Math.min(ASINS_A_LEAF, Math.ceil(LONGEST_LIST / leaves.length));
  const asins = new Set(
    leaves.flatMap((leaf) => Array.from({ length: each }, (_, n) => asinOfLeaf(leaf, n))),
  );
  const ranked = [...asins]
    .map((asin) => ({ asin, rank: rootRank(factsOf(asin), domain, at) }))
    .sort((a, b) => a.rank - b.rank || (a.asin < b.asin ? -1 : 1))
    .map(({ asin }) => asin);
  rankedLists.set(name, ranked);
  return ranked;
}

function onePerFamily(asins: readonly string[]): string[] {
  const seen = new Set<string>();
  return asins.filter((asin) => {
    const family = factsOf(asin).family?.parent ?? asin;
    if (seen.has(family)) return false;
    seen.add(family);
    return true;
  });
}
