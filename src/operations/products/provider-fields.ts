/**
 * The fields of the provider's product model, but for those that our own model describes. A product can have others, which
 * are passed on, but cannot be selected.
 */
export const PROVIDER_PRODUCT_FIELDS: readonly string[] = [
  ...[
    'domainId',
    'productType',
    'type',
    'parentTitle',
    'parentAsinHistory',
    'variations',
    'historicalVariations',
  ],
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

/** The same of the provider's sellers. */
export const PROVIDER_SELLER_FIELDS: readonly string[] = [
  ...['domainId', 'trackedSince', 'trackingSince', 'lastUpdate', 'lastRatingUpdate', 'currentRating'],
  ...['currentRatingCount', 'ratingsLast30Days', 'neutralRating', 'negativeRating', 'shipsFromChina'],
  ...['isScammer', 'totalStorefrontAsins', 'totalStorefrontAsinsCSV', 'sellerCategoryStatistics'],
  ...['sellerBrandStatistics', 'competitors', 'avgBuyBoxCompetitors', 'buyBoxNewOwnershipRate'],
  ...['buyBoxUsedOwnershipRate', 'recentFeedback', 'businessName', 'address', 'customerServicesAddress'],
  ...['tradeNumber', 'vatID', 'phoneNumber', 'businessType', 'shareCapital', 'representative', 'email'],
];

/** The same of the provider's categories. */
export const PROVIDER_CATEGORY_FIELDS: readonly string[] = [
  ...['domainId', 'contextFreeName', 'websiteDisplayGroup', 'isBrowseNode', 'matched', 'highestRank'],
  ...['lowestRank', 'productCount', 'avgBuyBox', 'avgBuyBox90', 'avgBuyBox365', 'avgBuyBoxDeviation'],
  ...['avgReviewCount', 'avgRating', 'sellerCount', 'brandCount', 'isFBAPercent', 'soldByAmazonPercent'],
  ...['hasCouponPercent', 'avgOfferCountNew', 'avgOfferCountUsed', 'avgDeltaPercent30BuyBox'],
  ...['avgDeltaPercent90BuyBox', 'avgDeltaPercent30Amazon', 'avgDeltaPercent90Amazon', 'relatedCategories'],
  ...['topBrands'],
];

/** The same of the provider's deals. */
export const PROVIDER_DEAL_FIELDS: readonly string[] = [
  ...['parentAsin', 'rootCat', 'categories', 'image', 'current', 'currentSince', 'deltaLast', 'delta'],
  ...['deltaPercent', 'avg', 'creationDate', 'lastUpdate', 'lightningStart', 'lightningEnd', 'minRating'],
  ...['warehouseCondition', 'warehouseConditionComment', 'backInStock', 'dateIntervalIndex', 'flags'],
  ...['salesRankDrops30', 'salesRankDrops90', 'salesRankDrops180', 'salesRankDrops365'],
];

/** The same of the provider's lightning deals. */
export const PROVIDER_LIGHTNING_DEAL_FIELDS: readonly string[] = [
  ...['domainId', 'lastUpdate', 'sellerId', 'sellerName', 'image', 'isMAP', 'rating', 'totalReviews'],
  'variation',
];
