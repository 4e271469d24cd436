import { asinOfLeaf, factsOf, onePerFamily } from '../catalog/asins.ts';
import {
  type CategoryNode,
  categoryNode,
  leafAt,
  leavesBelow,
  rootCategories,
} from '../catalog/categories.ts';
import { fraction, hash } from '../catalog/random.ts';
import { rootRank } from '../catalog/series.ts';
import { HOUR, remembered } from '../minutes.ts';
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

export const category: Endpoint = ({ params }) => {
  const domain = domainOf(params);
  const ids = required(params.category).split(',');
  if (ids.length > 10) throw invalidParameter();
  const nodes = ids.flatMap((id) => {
    const catId = categoryIdOf(id);
    return catId === 0 ? rootCategories() : (categoryNode(catId) ?? []);
  });
  const records = (list: readonly CategoryNode[]) =>
    Object.fromEntries(list.map((node) => [node.catId, categoryRecord(node, domain)]));
  const payload = { categories: records(nodes) };
  if (!isOn(params.parents)) return { payload, tokens: 1 };
  return { payload: { ...payload, categoryParents: records(nodes.flatMap(ancestors)) }, tokens: 1 };
};

export function categoryRecord(
  { catId, name, parent, children }: CategoryNode,
  domain: number,
): Record<string, unknown> {
  const leaves = leavesBelow(catId).length;
  const buyBox = 1000 + (hash('buybox', domain, catId) % 6000);
  return {
    domainId: domain,
    catId,
    name,
    contextFreeName: name,
    parent,
    children,
    isBrowseNode: true,
    matched: false,
    websiteDisplayGroup:
      parent === 0 ? `${name.toLowerCase().replaceAll(/[^a-z]+/g, '_')}_display_on_website` : null,
    highestRank: 400_000,
    lowestRank: 1,
    productCount: leaves * (20_000 + (hash('count', domain, catId) % 40_000)),
    avgBuyBox: buyBox,
    avgBuyBox90: buyBox + 40,
    avgBuyBox365: buyBox + 90,
    avgBuyBoxDeviation: Math.round(buyBox / 20),
    avgDeltaPercent30BuyBox: 0.6,
    avgDeltaPercent90BuyBox: 1.1,
    avgDeltaPercent30Amazon: 0.4,
    avgDeltaPercent90Amazon: 0.9,
    hasCouponPercent: 20,
    avgOfferCountNew: 7.5,
    avgOfferCountUsed: 2.5,
    sellerCount: 40 + 30 * leaves,
    brandCount: leafAt(leavesBelow(catId)[0] ?? 0).brands.length,
    relatedCategories: categoryNode(parent)?.children.filter((id) => id !== catId) ?? [],
    avgRating: 38 + (hash('rating', catId) % 9),
    avgReviewCount: hash('reviews', catId) % 4000,
    isFBAPercent: Math.round(1000 * fraction('fba', domain, catId)) / 10,
    soldByAmazonPercent: Math.round(500 * fraction('amazon', domain, catId)) / 10,
    topBrands: leafAt(leavesBelow(catId)[0] ?? 0).brands.slice(0, 3),
  };
}

function ancestors(node: CategoryNode): CategoryNode[] {
  const parent = categoryNode(node.parent);
  return parent ? [parent, ...ancestors(parent)] : [];
}

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
  const ranked = rankedAsins(domain, builtAt - range * 24 * HOUR, leaves);
  // 0: one variation for each parent; 1: all of them.
  const asinList = isOn(params.variations) ? ranked : onePerFamily(ranked, factsOf);
  return {
    payload: { bestSellersList: { domainId: domain, lastUpdate: builtAt, categoryId, asinList } },
    tokens: 50,
  };
};

/** Returns the ASINs below some categories, those with the best rank at a time first. */
const rankedAsins = remembered(
  20,
  (domain: number, at: number, leaves: readonly number[]): readonly string[] => {
    const each = Math.min(ASINS_A_LEAF, Math.ceil(LONGEST_LIST / leaves.length));
    const asins = new Set(
      leaves.flatMap((leaf) => Array.from({ length: each }, (_, n) => asinOfLeaf(leaf, n))),
    );
    return [...asins]
      .map((asin) => ({ asin, rank: rootRank(factsOf(asin), domain, at) }))
      .sort((a, b) => a.rank - b.rank || (a.asin < b.asin ? -1 : 1))
      .map(({ asin }) => asin);
  },
);
