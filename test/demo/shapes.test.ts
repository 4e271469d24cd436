import { expect, test } from 'vitest';
import { productOf } from '../../demo/catalog/products.ts';
import { type Fields, recordingsOf, strangeKinds } from '../support/recorded-shapes.ts';
import { words } from '../support/words.ts';

const recordings = recordingsOf('product-').map(({ file, answer }) => ({
  file,
  product: (answer.products as Fields[] | undefined)?.[0] ?? answer,
}));

const ASINS = 'B08N5WRWNX B0AA11BB22 B0CC11BB22 B0C3CDEF01 B0D410AB30 B0D510AB30 B0D612AB30'.split(' ');

/** Products with all that can be asked for, and with as little as possible. */
const generated = [true, false]
  .flatMap((all) =>
    ASINS.map((asin) =>
      productOf(asin, {
        domain: 1,
        nowMinutes: 8_300_000,
        statsDays: 90,
        days: null,
        onlyLiveOffers: false,
        history: all,
        offers: all ? 20 : 0,
        rating: all,
        buybox: all,
        stock: all,
        videos: all,
        aplus: all,
        historicalVariations: all,
      }),
    ),
  )
  .map((product) => product ?? {});

/** The fields of the provider's models of July 2026, without variationCSV and imagesCSV, which answers no longer have. */
const PRODUCT_FIELDS = words(`
  asin domainId parentAsin parentAsinHistory upcList eanList gtinList bundleItems historicalVariations
  images categories rootCategory manufacturer title trackingSince listedSince brand productGroup
  partNumber model color size edition format author binding categoryTree numberOfItems numberOfPages
  publicationDate releaseDate languages contributors features description packageHeight packageLength
  packageWidth packageWeight packageQuantity itemHeight itemLength itemWidth itemWeight ebayListingIds
  isAdultProduct isEligibleForTradeIn referralFeePercent variableClosingFee urlSlug ingredients isHaul
  referralFeePercentage lastSoldUpdate monthlySold monthlySoldHistory isEligibleForSuperSaverShipping
  lastUpdate lastPriceChange lastEbayUpdate lastStockUpdate lastRatingUpdate productType type hasReviews
  reviews stats offers liveOffersOrder buyBoxSellerIdHistory buyBoxUsedHistory isRedirectASIN isSNS
  suggestedLowerPrice competitivePriceThreshold buyBoxEligibleOfferCounts hazardousMaterials
  offersSuccessful frequentlyBoughtTogether isMerchOnDemand isHeatSensitive returnRate promotions
  variations availabilityAmazon coupon couponHistory newPriceIsMAP fbaFees salesRanks salesRankReference
  salesRankReferenceHistory availabilityAmazonDelay audienceRating unitCount scent shortDescription
  activeIngredients specialIngredients itemForm itemTypeKeyword recommendedUsesForProduct pattern
  brandStoreName brandStoreUrl brandStoreUrlName videos aPlus specificUsesForProduct
  websiteDisplayGroupName websiteDisplayGroup formats businessDiscount lastBusinessDiscountUpdate
  safetyWarning productBenefit batteriesRequired batteriesIncluded targetAudienceKeyword style
  includedComponents materials material specialFeatures deals csv
`);
const STATS_FIELDS = words(`
  current avg avg30 avg90 avg180 avg365 atIntervalStart min minInInterval max maxInInterval isLowest
  isLowest90 outOfStockCountAmazon30 outOfStockCountAmazon90 deltaPercent90_monthlySold
  outOfStockPercentageInInterval outOfStockPercentage90 outOfStockPercentage30 lightningDealInfo
  totalOfferCount lastOffersUpdate stockPerCondition3rdFBA stockPerConditionFBM stockAmazon stockBuyBox
  retrievedOfferCount buyBoxPrice buyBoxShipping buyBoxIsUnqualified buyBoxIsShippable buyBoxIsPreorder
  buyBoxIsFBA lastBuyBoxUpdate buyBoxIsUsed buyBoxIsBackorder buyBoxIsAmazon buyBoxIsMAP
  buyBoxMinOrderQuantity buyBoxMaxOrderQuantity buyBoxAvailabilityMessage buyBoxSellerId
  buyBoxShippingCountry buyBoxIsPrimeExclusive buyBoxIsFreeShippingEligible buyBoxIsPrimeEligible
  buyBoxIsPrimePantry buyBoxStats buyBoxSavingBasis buyBoxSavingBasisType buyBoxSavingPercentage
  buyBoxUsedPrice buyBoxUsedShipping buyBoxUsedSellerId buyBoxUsedIsFBA buyBoxUsedCondition
  buyBoxUsedStats isAddonItem sellerIdsLowestFBA sellerIdsLowestFBM offerCountFBA offerCountFBM
  salesRankDrops30 salesRankDrops90 salesRankDrops180 salesRankDrops365
`);
const OFFER_FIELDS = words(`
  offerId lastSeen sellerId offerCSV condition conditionComment isPrime isMAP isShippable isPreorder
  isWarehouseDeal shipsFromChina isAmazon isFBA isPrimeExcl primeExclCSV stockCSV minOrderQty coupon
  couponHistory offerDuplicates
`);

test.each([
  ['product', PRODUCT_FIELDS, (product: Fields) => [product]],
  ['statistics', STATS_FIELDS, (product: Fields) => [product.stats as Fields]],
  ['offer', OFFER_FIELDS, ({ offers = [] }: Fields) => offers as Fields[]],
] as const)("a generated %s has every field of the provider's model", (_, fields, partsOf) => {
  const parts = partsOf(generated[0] ?? {});
  expect(parts.length).toBeGreaterThan(0);
  for (const part of parts) expect(fields.filter((field) => !(field in part))).toEqual([]);
});

test.skipIf(recordings.length === 0)(
  'generated products have the fields of the newest recording, with types of the recordings (where they exist)',
  () => {
    const newest = recordings.find(({ file }) => file.includes('2026')) as (typeof recordings)[number];
    const [first = {}] = generated;
    expect(Object.keys(newest.product).filter((field) => !(field in first))).toEqual([]);
    expect(
      Object.keys(newest.product.stats as Fields).filter((field) => !(field in (first.stats as Fields))),
    ).toEqual([]);
    expect(
      strangeKinds(
        generated,
        recordings.map(({ product }) => product),
      ),
    ).toEqual([]);
  },
);
