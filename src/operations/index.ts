import { quota } from './account/quota.ts';
import { asinReverse } from './brand-analytics/asin-reverse.ts';
import { exportWeek } from './brand-analytics/export.ts';
import { rank } from './brand-analytics/rank.ts';
import { countries, reportDates } from './brand-analytics/report-dates.ts';
import { keywordSearch } from './brand-analytics/search.ts';
import { word, wordGoods, wordHistory } from './brand-analytics/word.ts';
import type { LocalOperation, Operation, QueuedOperation } from './define.ts';
import { bestSellers, topSellers } from './market/best-sellers.ts';
import { category, categorySearch } from './market/category.ts';
import { chartUrl, graphImage } from './market/chart.ts';
import { deal } from './market/deal.ts';
import { lightningDeal } from './market/lightning-deal.ts';
import { product } from './market/product.ts';
import { productFinder } from './market/product-finder.ts';
import { productSearch } from './market/product-search.ts';
import { seller } from './market/seller.ts';
import { variations } from './market/variations.ts';
import { researchCompare } from './research/compare.ts';
import { researchKeyword } from './research/keyword.ts';
import { researchProduct } from './research/product.ts';
import { screen } from './research/screen.ts';
import { imageUrl } from './retail/image-url.ts';
import { interestByRegion } from './trends/interest-by-region.ts';
import { interestOverTime } from './trends/interest-over-time.ts';
import { relatedQueries, relatedTopics } from './trends/related.ts';
import { dailyTrends, realTimeTrends } from './trends/trending.ts';

const QUEUED_CONTRACTS = [
  product,
  variations,
  productFinder,
  // When two share a path, a request without `type` gets the first.
  productSearch,
  categorySearch,
  category,
  bestSellers,
  seller,
  topSellers,
  deal,
  lightningDeal,
  graphImage,
  interestOverTime,
  interestByRegion,
  relatedQueries,
  relatedTopics,
  dailyTrends,
  realTimeTrends,
  reportDates,
  rank,
  keywordSearch,
  word,
  wordHistory,
  wordGoods,
  asinReverse,
  exportWeek,
  researchKeyword,
  researchProduct,
  researchCompare,
  screen,
] as const;
const LOCAL_CONTRACTS = [quota, chartUrl, imageUrl, countries] as const;

type Queued = (typeof QUEUED_CONTRACTS)[number];
type Local = (typeof LOCAL_CONTRACTS)[number];

export type QueuedName = Queued['name'];
export type LocalName = Local['name'];
export type QueuedByName<Name extends QueuedName> = Extract<Queued, { name: Name }>;
export type LocalByName<Name extends LocalName> = Extract<Local, { name: Name }>;

export type InputOf<Op> =
  Op extends QueuedOperation<string, infer Input, infer _>
    ? Input
    : Op extends LocalOperation<string, infer Input>
      ? Input
      : never;
export type RawOf<Op> = Op extends QueuedOperation<string, infer _, infer Raw> ? Raw : never;

/**
 * All queued operations; routes, prices, queues and documentation derive from this list. It omits the types of input
 * and data for code that treats all operations alike; `QueuedByName` has them.
 */
export const QUEUED = QUEUED_CONTRACTS.map((contract) => contract as QueuedOperation<QueuedName>);

/** All operations that the gateway answers itself. */
export const LOCAL = LOCAL_CONTRACTS.map((contract) => contract as LocalOperation<LocalName>);

export const OPERATIONS: readonly Operation[] = [...QUEUED, ...LOCAL];

export const QUEUED_NAMES = QUEUED.map(({ name }) => name) as [QueuedName, ...QueuedName[]];

const byName = new Map<string, QueuedOperation>(QUEUED.map((operation) => [operation.name, operation]));

/** Returns the queued operation with this name, if it exists. */
export function queuedOperation(name: string): QueuedOperation | undefined {
  return byName.get(name);
}

/** Returns the queued operation with a name that was checked before. @throws if it does not exist. */
export function existingOperation(name: string): QueuedOperation {
  const operation = queuedOperation(name);
  if (!operation) throw new Error(`unknown operation ${name}`);
  return operation;
}
