import { AS_SENT, type Field } from './field.ts';

export const IDENTITY: readonly Field[] = [
  ['asin', 'ASIN', 'ASIN of the product', { none: 'always there' }],
  ['domainId', 'integer', 'Site number, such as 1 for `us`'],
  [
    'productType',
    'integer',
    '0 standard, 1 downloadable, 2 e-book, 3 inaccessible, 4 invalid or gone, 5 variation parent. 1 and 2 have no data of offers, 5 has ranks and variations only',
  ],
  ['type', 'text', 'Product type of the site, such as SKIN_SERUM'],
  ['title', 'text', 'Title; may have HTML entities'],
  ['brand', 'text', 'Brand'],
  ['manufacturer', 'text', 'Manufacturer'],
  ['model', 'text', 'Model'],
  ['partNumber', 'text', 'Part number'],
  ['productGroup', 'text', 'Product group'],
  ['binding', 'text', 'Binding, or kind of product'],
  ['upcList', 'list', 'UPC codes; the first is the main one'],
  ['eanList', 'list', 'EAN codes; the first is the main one'],
  ['gtinList', 'list', 'GTIN codes; the first is the main one'],
  ['brandStoreName', 'text', "Name of the brand's store"],
  ['brandStoreUrl', 'text', "Path of the brand's store on the site"],
  ['brandStoreUrlName', 'text', "Name of the brand's store in its address"],
  ['urlSlug', 'text', 'Title as it is in the address of the product page'],
  ['author', 'text', 'Author; the provider replaces it by `contributors`'],
  ['contributors', 'list', 'Contributors, each as [name, role]'],
  ['languages', 'list', 'Languages, each as [name, kind, audio format]; the last two may be absent'],
  ['isRedirectASIN', 'boolean', 'Whether the site redirects the ASIN to another; known with offers only'],
  ['isAdultProduct', 'boolean', 'Whether it is a product for adults'],
  ['isB2B', 'boolean', AS_SENT],
  ['launchpad', 'boolean', AS_SENT],
  ['isMerchOnDemand', 'boolean', 'Whether it is Merch on Demand'],
  ['isHaul', 'boolean', 'Whether it is a Haul product'],
  ['g', 'integer', AS_SENT],
];

export const TEXTS: readonly Field[] = [
  ['description', 'text', 'Description, in HTML, cut by the provider at 2,000 to 4,000 characters'],
  ['shortDescription', 'text', 'Short description'],
  ['features', 'list', 'Bullet points, each of up to 1,000 characters'],
  ['color', 'text', 'Colour'],
  ['size', 'text', 'Size'],
  ['edition', 'text', 'Edition'],
  ['format', 'text', 'Format'],
  ['style', 'text', 'Style'],
  ['pattern', 'text', 'Pattern'],
  ['scent', 'text', 'Scent'],
  ['itemForm', 'text', 'Form, such as Spray'],
  ['itemTypeKeyword', 'text', 'Keyword of the item type, such as micro-sd-cards'],
  ['targetAudienceKeyword', 'text', 'Keyword of the target audience'],
  ['audienceRating', 'text', 'Audience rating'],
  ['material', 'text', 'Material; the provider replaces it by `materials`'],
  ['materials', 'list', 'Materials'],
  ['ingredients', 'text', 'Ingredients'],
  ['activeIngredients', 'text', 'Active ingredients'],
  ['specialIngredients', 'text', 'Special ingredients'],
  ['safetyWarning', 'text', 'Safety warning'],
  ['productBenefit', 'text', 'Benefit of the product'],
  ['includedComponents', 'text', 'Included components'],
  ['recommendedUsesForProduct', 'text', 'Recommended uses'],
  ['specialFeatures', 'list', 'Special features'],
  ['specificUsesForProduct', 'list', 'Specific uses'],
  ['hazardousMaterials', 'list', 'Statements on hazardous materials, each as `aspect` and `value`'],
  ['hazardousMaterialType', 'integer', AS_SENT],
];

export const PRICES: readonly Field[] = [
  [
    'csv',
    'series',
    'Histories, one for each index of the table below; null where there is none',
    {
      none: '-1 in a point: no offer, or no data. A history of one point with -1: the provider looked, and found nothing. At index 15, a number below 0 means that there were more offers than the provider fetched',
      decode:
        '`history`, by the name of each series; -1 becomes `null`, and numbers at index 15 become positive',
    },
  ],
  ['stats', 'object', 'Statistics; see there', { decode: '`statistics` and `stats`; see there' }],
  ['newPriceIsMAP', 'boolean', 'Whether the new price is hidden on the page, rather than missing'],
  [
    'coupon',
    'list',
    'Coupons now, as [one-time, Subscribe & Save]: a positive number is a price, a negative one a percentage, 0 none',
  ],
  [
    'couponHistory',
    'history',
    'Coupons: one-time, Subscribe & Save, as in `coupon`; since June 2024',
    {
      none: '0 in a point: no coupon',
      decode: '`history.coupon`, with `amount`, `percent`, `subscribeAmount`, `subscribePercent`',
    },
  ],
  [
    'promotions',
    'list',
    'Promotions of the retailer, `us` only: `type` (SNS or PrimeExclusive), `amount` (price), `discountPercent`, `snsBulkDiscountPercent`, `sellerId`',
  ],
  [
    'deals',
    'list',
    'Deal badges, without prices: `accessType`, such as ALL, `dealType`, such as LIMITED_TIME_DEAL, `badge` as on the page, `startTime`, `endTime` (index minutes), `percentClaimed`. The provider may add types',
  ],
  ['primeDealEndTime', 'minutes', AS_SENT],
  ['competitivePriceThreshold', 'integer', AS_SENT],
  ['suggestedLowerPrice', 'integer', AS_SENT],
  ['businessDiscount', 'integer', AS_SENT],
  ['hasReviews', 'boolean', 'Whether the product has reviews'],
  [
    'reviews',
    'object',
    '`lastUpdate` (index minutes), and the histories `ratingCount` and `reviewCount` of this variation alone; only with `rating=1`. The provider stopped `ratingCount` in April 2025',
    { decode: 'the histories are `history.ratingCountOfVariation` and `history.reviewCountOfVariation`' },
  ],
  ['ebayListingIds', 'list', 'Ids of the eBay listings, as [new, used]', { none: '0 where there is none' }],
];

export const RANKS: readonly Field[] = [
  ['rootCategory', 'id', 'Id of the root category', { none: '0: unknown' }],
  ['categories', 'list', 'Ids of the categories to which the product is assigned directly'],
  ['categoryTree', 'list', 'Categories from the root down, each as `catId` and `name`'],
  [
    'salesRankReference',
    'id',
    'Id of the category of the main sales rank (`csv` index 3)',
    { none: '-1: none. -2: launchpad' },
  ],
  [
    'salesRankReferenceHistory',
    'history',
    'Category of the main sales rank: id',
    { none: '-1 in a point: none', decode: '`history.salesRankCategory`, with `categoryId`' },
  ],
  [
    'salesRanks',
    'object',
    'Histories of ranks by category id: rank. Smaller is better',
    { none: '-1 in a point: no rank', decode: '`history.salesRanks`' },
  ],
  ['salesRankDisplayGroup', 'text', AS_SENT],
  ['websiteDisplayGroup', 'text', AS_SENT],
  ['websiteDisplayGroupName', 'text', AS_SENT],
  [
    'monthlySold',
    'integer',
    'Units bought in the past month as the page states it: the lower bound of a band',
    { none: '-1, or absent: the page states nothing', decode: '-1 becomes `null`' },
  ],
  [
    'monthlySoldHistory',
    'history',
    'Units bought in the past month: units',
    { none: '-1 in a point: the page states nothing', decode: '`history.monthlySold`' },
  ],
  ['returnRate', 'integer', '1 low, 2 high', { none: 'null: average' }],
];

export const OFFERS: readonly Field[] = [
  [
    'availabilityAmazon',
    'integer',
    "The retailer's offer: 0 in stock, 1 pre-order, 2 unknown, 3 back-order, 4 delayed",
    { none: '-1: no offer of the retailer' },
  ],
  ['availabilityAmazonDelay', 'list', 'Hours until the retailer ships, as [least, most]'],
  [
    'offers',
    'list',
    'Offers, live and past ones; see there. Only with `offers`',
    { decode: 'each offer has its own `history`; see there' },
  ],
  [
    'liveOffersOrder',
    'list',
    'Places in `offers` of the live offers, in the order of the page; empty if none is live',
  ],
  [
    'offersSuccessful',
    'boolean',
    'Whether the provider could collect the offers; false if they were not requested',
  ],
  [
    'buyBoxSellerIdHistory',
    'history',
    'Seller of the Buy Box: seller id. All entries are texts, the times too',
    {
      none: '"-1" in a point: no seller has the Buy Box. "-2": unknown seller',
      decode: '`history.buyBoxSeller`, with `sellerId`; both become `null`',
    },
  ],
  [
    'buyBoxUsedHistory',
    'history',
    'Seller of the Buy Box for used products: seller id, condition (2 to 5, as in offers), 1 if the marketplace fulfils. All entries are texts, the times too',
    {
      none: '"" in a point: no seller',
      decode: '`history.buyBoxUsedSeller`, with `sellerId`, `condition`, `isFba`',
    },
  ],
  [
    'buyBoxEligibleOfferCounts',
    'list',
    'Offers that may win the Buy Box: new, used, collectible, refurbished, each as FBA, FBM',
  ],
  ['isSNS', 'boolean', 'Whether there is Subscribe & Save; known with offers only'],
  ['isEligibleForSuperSaverShipping', 'boolean', 'Whether it is eligible for Super Saver shipping'],
  ['isEligibleForTradeIn', 'boolean', 'Whether it can be traded in'],
];

export const FEES: readonly Field[] = [
  [
    'fbaFees',
    'object',
    '`pickAndPackFee` (price) and `lastUpdate` (index minutes) of the fees for fulfilment',
  ],
  ['referralFeePercentage', 'percent', 'Referral fee'],
  [
    'referralFeePercent',
    'integer',
    'Referral fee, rounded; the provider replaces it by `referralFeePercentage`',
  ],
  ['variableClosingFee', 'price', 'Variable closing fee'],
  ...['package', 'item'].flatMap((what): Field[] => [
    [`${what}Height`, 'mm', `Height of the ${what}`, { none: '0 or -1: unknown' }],
    [`${what}Length`, 'mm', `Length of the ${what}`, { none: '0 or -1: unknown' }],
    [`${what}Width`, 'mm', `Width of the ${what}`, { none: '0 or -1: unknown' }],
    [`${what}Weight`, 'grams', `Weight of the ${what}`, { none: '0 or -1: unknown' }],
  ]),
  ['packageQuantity', 'integer', 'Number of items in the package', { none: '-1: unknown' }],
  ['numberOfItems', 'integer', 'Number of items', { none: '-1: unknown' }],
  ['numberOfPages', 'integer', 'Number of pages', { none: '-1: unknown' }],
  ['unitCount', 'object', '`unitValue`, `unitType`, such as Fl Oz, and `eachUnitCount`'],
  ['isHeatSensitive', 'boolean', 'Whether it is sensitive to heat'],
  ['batteriesRequired', 'boolean', 'Whether it needs batteries'],
  ['batteriesIncluded', 'boolean', 'Whether batteries are included'],
];

export const MEDIA: readonly Field[] = [
  [
    'images',
    'list',
    'Images, each as file name, height and width: `l`, `lH`, `lW` large, `m`, `mH`, `mW` medium. The address is `https://m.media-amazon.com/images/I/` and the file name',
  ],
  [
    'imagesCSV',
    'text',
    'File names of the large images, separated by commas; the provider sent it until April 2026',
  ],
  [
    'videos',
    'list',
    'Videos, each as `title`, `image`, `duration` (seconds), `creator`, `name`, `url`; not requested by Souk',
  ],
  [
    'aPlus',
    'list',
    'A+ content, each as `fromManufacturer` and `module`, whose entries have `text`, `image`, `video`, `imageAltText` and `asin`; not requested by Souk',
  ],
];

export const FAMILY: readonly Field[] = [
  ['parentAsin', 'ASIN', 'ASIN of the parent', { none: 'null: no variations at present' }],
  ['parentTitle', 'text', 'Title of the parent'],
  [
    'parentAsinHistory',
    'history',
    'Former parents: ASIN. All entries are texts, the times too',
    { none: '"-1" in a point: no parent', decode: '`history.parentAsin`, with `asin`' },
  ],
  [
    'variations',
    'list',
    'The whole family, each as `asin`, `image` and `attributes` (`dimension`, `value`); variations have it too, not only the parent',
  ],
  [
    'variationCSV',
    'text',
    'ASINs of the family, separated by commas; the provider replaces it by `variations`',
  ],
  ['historicalVariations', 'list', 'ASINs of former variations; not requested by Souk'],
  ['bundleItems', 'list', 'ASINs of the products in a virtual bundle'],
  ['frequentlyBoughtTogether', 'list', 'ASINs of one or two products'],
  ['formats', 'list', 'Other formats of a book, each as `asin` and `format`'],
];

export const TIMES: readonly Field[] = [
  [
    'lastUpdate',
    'minutes',
    'When the provider last updated the product',
    { none: '0 or -1: unknown', decode: '-1 becomes `null`' },
  ],
  ['trackingSince', 'minutes', 'Since when the provider tracks the product', { none: '0: unknown' }],
  [
    'listedSince',
    'minutes',
    'Since when the site lists the product; may be in the future',
    { none: '0: unknown' },
  ],
  ['lastPriceChange', 'minutes', 'When a price last changed', { none: '0: unknown' }],
  ['lastRatingUpdate', 'minutes', 'When the provider last updated the rating', { none: '0: unknown' }],
  ['lastSoldUpdate', 'minutes', 'When the provider last updated `monthlySold`', { none: '0: unknown' }],
  [
    'lastStockUpdate',
    'minutes',
    'When the provider last updated the stock of the offers',
    { none: '0: unknown' },
  ],
  [
    'lastEbayUpdate',
    'minutes',
    'When the provider last looked for eBay prices',
    { none: '0: unknown. Negative: looked, and found nothing' },
  ],
  [
    'lastBusinessDiscountUpdate',
    'minutes',
    'When the provider last updated `businessDiscount`',
    { none: '0: unknown' },
  ],
  ['publicationDate', 'date', 'Date of publication', { none: '0 or -1: unknown' }],
  ['releaseDate', 'date', 'Date of release', { none: '0 or -1: unknown' }],
];
