import type { Preliminary } from '../../operations/define.ts';
import type { RegionalInterest, Resolution } from '../../operations/trends/interest-by-region.ts';
import type { Timeline } from '../../operations/trends/interest-over-time.ts';
import type { Property } from '../../operations/trends/keyword-question.ts';
import type { Related, RelatedQuery, RelatedTopic } from '../../operations/trends/related.ts';
import type { TrendList } from '../../operations/trends/trend.ts';
import type { Logger } from '../../platform/log.ts';

/** What search interest is asked about. */
export interface KeywordQuestion {
  /** 1 to 5. */
  keywords: readonly string[];
  /** '' for the whole world. */
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

export interface TrendsContext {
  signal: AbortSignal;
  /** Unix milliseconds by which the answer is wanted. */
  deadlineAt: number;
  /** Nobody waits for the answer; that may change while it is under way. */
  readonly background: boolean;
  /** Keeps what has to be asked before the data, for other calls as well. */
  prepare<Raw extends object>(
    preliminary: Preliminary,
    fetch: () => Promise<Raw>,
    options?: { insteadOf?: Raw },
  ): Promise<Raw>;
  log: Logger;
}

/**
 * Search trends, whoever tells them: at present two clients of the Trends site, which is two services with different
 * habits. Its published interface has time series and regions only, so it could take the place of some of these.
 * Each of them throws SoukError UPSTREAM_ERROR, UPSTREAM_TIMEOUT, or VALIDATION_FAILED for a region nobody knows; in the
 * background also TokensAwaited, when it is not its turn.
 */
export interface KeywordTrends {
  interestOverTime(question: KeywordQuestion, context: TrendsContext): Promise<Timeline>;
  /** @param resolution null for what upstream chooses by itself. */
  interestByRegion(
    question: KeywordQuestion,
    resolution: Resolution | null,
    context: TrendsContext,
  ): Promise<RegionalInterest>;
  /** Of one keyword of the question. */
  relatedQueries(
    question: KeywordQuestion,
    keyword: string,
    context: TrendsContext,
  ): Promise<Related<RelatedQuery>>;
  /** Of a question with one keyword. */
  relatedTopics(question: KeywordQuestion, context: TrendsContext): Promise<Related<RelatedTopic>>;
}

export interface TrendingQuestion {
  geo: string;
  hl: string;
  /** Length of the window that ends now. */
  hours: number;
  /** Whether the feed with ten trends will do where the whole list cannot be had. */
  feedWillDo: boolean;
}

export interface TrendingNow {
  trending(question: TrendingQuestion, context: TrendsContext): Promise<TrendList>;
}

export type Trends = KeywordTrends & TrendingNow;
