import type { QueuedByName, QueuedName } from '../../src/operations/index.ts';
import { handleAsinReverse } from './brand-analytics/asin-reverse.ts';
import { handleRank } from './brand-analytics/rank.ts';
import { handleReportDates } from './brand-analytics/report-dates.ts';
import { handleKeywordSearch } from './brand-analytics/search.ts';
import { handleWord } from './brand-analytics/word.ts';
import { handleWordGoods } from './brand-analytics/word-goods.ts';
import { handleWordHistory } from './brand-analytics/word-history.ts';
import type { Handler } from './handler.ts';
import { handleBestSellers } from './market/best-sellers.ts';
import { handleCategory } from './market/category.ts';
import { handleCategorySearch } from './market/category-search.ts';
import { handleDeal } from './market/deal.ts';
import { handleGraphImage } from './market/graph-image.ts';
import { handleLightningDeal } from './market/lightning-deal.ts';
import { handleProduct } from './market/product.ts';
import { handleProductFinder } from './market/product-finder.ts';
import { handleProductSearch } from './market/product-search.ts';
import { handleSeller } from './market/seller.ts';
import { handleTopSellers } from './market/top-sellers.ts';
import { handleVariations } from './market/variations.ts';
import { handleDailyTrends } from './trends/daily-trends.ts';
import { handleInterestByRegion } from './trends/interest-by-region.ts';
import { handleInterestOverTime } from './trends/interest-over-time.ts';
import { handleRealTimeTrends } from './trends/real-time-trends.ts';
import { handleRelatedQueries } from './trends/related-queries.ts';
import { handleRelatedTopics } from './trends/related-topics.ts';

/** Who does what. An operation without its handler does not compile. */
export const HANDLERS: { [Name in QueuedName]: Handler<QueuedByName<Name>> } = {
  'market.product': handleProduct,
  'market.variations': handleVariations,
  'market.productfinder': handleProductFinder,
  'market.productsearch': handleProductSearch,
  'market.categorysearch': handleCategorySearch,
  'market.category': handleCategory,
  'market.bestseller': handleBestSellers,
  'market.seller': handleSeller,
  'market.topseller': handleTopSellers,
  'market.deal': handleDeal,
  'market.lightningdeal': handleLightningDeal,
  'market.graphimage': handleGraphImage,
  'trends.interest-over-time': handleInterestOverTime,
  'trends.interest-by-region': handleInterestByRegion,
  'trends.related-queries': handleRelatedQueries,
  'trends.related-topics': handleRelatedTopics,
  'trends.daily-trends': handleDailyTrends,
  'trends.real-time-trends': handleRealTimeTrends,
  'aba.reportdates': handleReportDates,
  'aba.rank': handleRank,
  'aba.search': handleKeywordSearch,
  'aba.word': handleWord,
  'aba.wordhistory': handleWordHistory,
  'aba.wordgoods': handleWordGoods,
  'aba.asinreverse': handleAsinReverse,
};
