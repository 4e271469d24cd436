import type { Preliminary } from '../../operations/define.ts';
import type { RegionalInterest, Resolution } from '../../operations/trends/interest-by-region.ts';
import type { Timeline } from '../../operations/trends/interest-over-time.ts';
import type { Property } from '../../operations/trends/keyword-question.ts';
import type { Related, RelatedQuery, RelatedTopic } from '../../operations/trends/related.ts';
import type { TrendList } from '../../operations/trends/trend.ts';
import type { Logger } from '../../platform/log.ts';
import type { Cancellable } from '../cancellation.ts';

/** A request for search interest. */
export interface KeywordQuestion {
  /** 1 to 5. */
  keywords: readonly string[];
  /** '' means worldwide. */
  geo: string;
  /** YYYY-MM-DD, both included. */
  startDate: string;
  endDate: string;
  /** Language code. */
  hl: string;
  property: Property;
  category: number;
  /** Minutes east of UTC. */
  timezone: number;
}

export interface TrendsContext extends Cancellable {
  /** Deadline of the answer, Unix milliseconds. */
  deadlineAt: number;
  /** No request waits for the answer. May change during the call. */
  readonly background: boolean;
  /** Fetches a preliminary answer, or returns the stored one that other calls share. */
  prepare<Raw extends object>(
    preliminary: Preliminary,
    fetch: () => Promise<Raw>,
    options?: { insteadOf?: Raw },
  ): Promise<Raw>;
  log: Logger;
}

/**
 * Search trends of keywords. Implemented by clients of the Trends site; its official API, which has only time series and
 * regions, could replace some of them. All methods throw SoukError UPSTREAM_ERROR, UPSTREAM_TIMEOUT, or VALIDATION_FAILED
 * for an unknown region; in the background also TokensAwaited when the pacer makes the call wait.
 */
export interface KeywordTrends {
  interestOverTime(question: KeywordQuestion, context: TrendsContext): Promise<Timeline>;
  /** @param resolution null for upstream's default. */
  interestByRegion(
    question: KeywordQuestion,
    resolution: Resolution | null,
    context: TrendsContext,
  ): Promise<RegionalInterest>;
  /** Fetches the related queries of one keyword of the request. */
  relatedQueries(
    question: KeywordQuestion,
    keyword: string,
    context: TrendsContext,
  ): Promise<Related<RelatedQuery>>;
  /** Fetches the related topics of a request with one keyword. */
  relatedTopics(question: KeywordQuestion, context: TrendsContext): Promise<Related<RelatedTopic>>;
}

export interface TrendingQuestion {
  geo: string;
  hl: string;
  /** Length of the window that ends now. */
  hours: number;
  /** Whether to use the feed with ten trends when the full list is unavailable. */
  allowFeed: boolean;
}

export interface TrendingNow {
  trending(question: TrendingQuestion, context: TrendsContext): Promise<TrendList>;
}

export type Trends = KeywordTrends & TrendingNow;
