/**
 * The fields of the provider's product model, but for those that our own model describes. A product can have others, which
 * are passed on, but cannot be selected.
 */
export const PROVIDER_PRODUCT_FIELDS: readonly string[] = [
  ...['productType', 'type', 'parentTitle', 'parentAsinHistory', 'variations', 'historicalVariations'],
  ...['bundleItems', 'frequentlyBoughtTogether', 'formats', 'rootCategory', 'categories', 'categoryTree'],
  ...['salesRankReference', 'salesRankReferenceHistory', 'salesRankDisplayGroup', 'websiteDisplayGroup'],
  ...['websiteDisplayGroupName', 'upcList', 'eanList', 'gtinList', 'productGroup', 'partNumber', 'model'],
  ...[
    'manufacturer',
    'binding',
    'color',
    'size',
    'edition',
    'format',
    'style',
    'pattern',
    'scent',
    'itemForm',
  ],
  ...['itemTypeKeyword', 'targetAudienceKeyword', 'audienceRating', 'author', 'brandStoreName'],
  ...['brandStoreUrl', 'brandStoreUrlName', 'urlSlug', 'contributors', 'languages', 'description'],
  ...['shortDescription', 'features', 'ingredients', 'activeIngredients', 'specialIngredients'],
  ...['safetyWarning', 'productBenefit', 'includedComponents', 'recommendedUsesForProduct'],
  ...['specialFeatures', 'specificUsesForProduct', 'material', 'materials', 'images', 'imagesCSV', 'videos'],
  ...['aPlus', 'packageHeight', 'packageLength', 'packageWidth', 'packageWeight', 'packageQuantity'],
  ...['itemHeight', 'itemLength', 'itemWidth', 'itemWeight', 'numberOfItems', 'numberOfPages', 'unitCount'],
  ...['hazardousMaterials', 'hazardousMaterialType', 'publicationDate', 'releaseDate', 'isAdultProduct'],
  ...['isHeatSensitive', 'isMerchOnDemand', 'isHaul', 'isEligibleForTradeIn', 'isB2B', 'launchpad'],
  ...['isEligibleForSuperSaverShipping', 'batteriesRequired', 'batteriesIncluded', 'returnRate'],
  ...['availabilityAmazon', 'availabilityAmazonDelay', 'newPriceIsMAP', 'coupon', 'couponHistory'],
  ...['promotions', 'deals', 'lastSoldUpdate', 'monthlySoldHistory', 'fbaFees', 'referralFeePercentage'],
  ...['referralFeePercent', 'variableClosingFee', 'competitivePriceThreshold', 'suggestedLowerPrice'],
  ...['businessDiscount', 'lastBusinessDiscountUpdate', 'hasReviews', 'reviews', 'ebayListingIds', 'isSNS'],
  ...['isRedirectASIN', 'offersSuccessful', 'offers', 'liveOffersOrder', 'buyBoxSellerIdHistory'],
  ...['buyBoxUsedHistory', 'buyBoxEligibleOfferCounts', 'trackingSince', 'listedSince', 'lastPriceChange'],
  ...['lastRatingUpdate', 'lastEbayUpdate', 'lastStockUpdate', 'g', 'primeDealEndTime', 'image'],
];
