import {
  type CategoryNode,
  categoryNode,
  leafAt,
  leavesBelow,
  rootCategories,
} from '../catalog/categories.ts';
import { fraction, hash } from '../catalog/random.ts';
import { categoryIdOf, domainOf, type Endpoint, invalidParameter, isOn, required } from '../protocol.ts';

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
