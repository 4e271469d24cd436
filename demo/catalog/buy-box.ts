import type { AsinFacts } from './asins.ts';
import type { ProductRequest } from './products.ts';
import { fraction, hash } from './random.ts';
import { sellerAt } from './sellers.ts';

const DAY = 1440;

/** The fields of the statistics about the buy box when it was not asked for. */
const UNKNOWN = {
  ...{
    buyBoxPrice: -2,
    buyBoxShipping: -2,
    buyBoxSellerId: null,
    buyBoxCondition: null,
    lastBuyBoxUpdate: null,
  },
  ...{ buyBoxIsUnqualified: null, buyBoxIsShippable: null, buyBoxIsPreorder: null, buyBoxIsBackorder: null },
  ...{ buyBoxIsFBA: null, buyBoxIsAmazon: null, buyBoxIsMAP: null, buyBoxIsUsed: null },
  ...{ buyBoxIsWarehouseDeal: null, buyBoxIsPrimeExclusive: null, buyBoxIsPrimeEligible: null },
  ...{ buyBoxIsFreeShippingEligible: null, buyBoxIsPrimePantry: null, buyBoxAvailabilityMessage: null },
  ...{ buyBoxMinOrderQuantity: null, buyBoxMaxOrderQuantity: null, buyBoxShippingCountry: null },
  ...{ buyBoxShippingTime: null, buyBoxStats: null, buyBoxUsedStats: null, buyBoxSavingBasis: null },
  ...{ buyBoxSavingBasisType: null, buyBoxSavingPercentage: null, buyBoxUsedPrice: null },
  ...{ buyBoxUsedShipping: null, buyBoxUsedSellerId: null, buyBoxUsedIsFBA: null, buyBoxUsedCondition: null },
} as const;

/** Returns the fields of the statistics about the buy box, which are known only after a call that asks for it. */
export function buyBoxStats(
  facts: AsinFacts,
  csv: readonly (readonly number[] | null)[],
  { buybox, offers, nowMinutes }: ProductRequest,
): Record<string, unknown> {
  const [price, shipping = 0] = csv[18]?.slice(-2) ?? [];
  if (price === undefined || !(buybox || offers > 0)) return UNKNOWN;
  const [usedPrice = -1, usedShipping = -1] = csv[32]?.slice(-2) ?? [];
  const listPrice = csv[4]?.at(-1) ?? -1;
  const isAmazon = facts.seller === 0;
  const { sellerId } = sellerAt(facts.seller);
  return {
    ...UNKNOWN,
    ...{ buyBoxPrice: price, buyBoxShipping: shipping, buyBoxSellerId: price < 0 ? '-1' : sellerId },
    ...{ buyBoxCondition: 1, lastBuyBoxUpdate: nowMinutes, buyBoxIsUnqualified: price < 0 },
    ...{ buyBoxIsShippable: true, buyBoxIsPreorder: false, buyBoxIsBackorder: false, buyBoxIsFBA: true },
    ...{ buyBoxIsAmazon: isAmazon, buyBoxIsMAP: false, buyBoxIsUsed: false, buyBoxIsWarehouseDeal: false },
    ...{ buyBoxIsPrimeEligible: true, buyBoxIsFreeShippingEligible: shipping === 0 },
    ...{ buyBoxAvailabilityMessage: 'IN_STOCK', buyBoxShippingTime: [0, 24] },
    ...(listPrice > price
      ? {
          ...{ buyBoxSavingBasis: listPrice, buyBoxSavingBasisType: 'LIST_PRICE' },
          buyBoxSavingPercentage: Math.round((100 * (listPrice - price)) / listPrice),
        }
      : {}),
    buyBoxStats: shares(facts, price, nowMinutes),
    ...{ buyBoxUsedPrice: usedPrice, buyBoxUsedShipping: usedShipping, buyBoxUsedStats: {} },
    ...(usedPrice < 0
      ? {}
      : { buyBoxUsedSellerId: sellerAt(1).sellerId, buyBoxUsedIsFBA: true, buyBoxUsedCondition: 3 }),
  };
}

/** How often each seller had the buy box. */
function shares(facts: AsinFacts, price: number, nowMinutes: number): Record<string, unknown> {
  const main = Math.round(600 + 350 * fraction('share', facts.asin)) / 10;
  const other = 2 + (hash('other', facts.asin) % 500);
  return Object.fromEntries(
    [[facts.seller, main] as const, [other, 100 - main] as const].map(([index, percentageWon], i) => [
      sellerAt(index).sellerId,
      {
        ...{ percentageWon, avgPrice: price + i * 50, avgNewOfferCount: 3, avgUsedOfferCount: -1 },
        ...{ isFBA: i === 0, lastSeen: nowMinutes - i * DAY },
      },
    ]),
  );
}

/** Returns who had the used buy box: groups of time, seller, condition and whether the site sends it, all as texts. */
export function usedBuyBoxHistory(usedBuyBox: readonly number[] | null | undefined): string[] {
  return Array.from({ length: Math.floor((usedBuyBox?.length ?? 0) / 3) }, (_, i) => {
    const time = String(usedBuyBox?.[3 * i] ?? 0);
    return (usedBuyBox?.[3 * i + 1] ?? -1) < 0 ? [time, '', '', ''] : [time, sellerAt(1).sellerId, '3', '1'];
  }).flat();
}
