import type { Preliminary } from '../../operations/define.ts';
import type { RegionalInterest, Resolution } from '../../operations/trends/interest-by-region.ts';
import type { Timeline } from '../../operations/trends/interest-over-time.ts';
import type { Property } from '../../operations/trends/keyword-question.ts';
import type { Related, RelatedQuery, RelatedTopic } from '../../operations/trends/related.ts';
import type { TrendList } from '../../operations/trends/trending.ts';
import type { Clock } from '../../platform/clock.ts';
import { WEEK_MS } from '../../platform/durations.ts';
import type { Logger } from '../../platform/log.ts';
import type { Redis } from '../../platform/redis.ts';
import type { RedisKeys } from '../../platform/redis-keys.ts';
import type { Cancellable, HttpClient, HttpResponse } from '../http-client.ts';
import { createExploreClient, createKeywordClient } from './keyword-client.ts';
import { type Cookies, createPacer, createRateLimitedEndpoint, type Pace } from './rate-limited-endpoint.ts';
import { createTrendingClient } from './trending-client.ts';

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

/**
 * Upstream requires only this cookie. Its form varies, so it is stored unchanged if it is a valid header value; an
 * invalid one would fail all calls until it expires.
 */
const NID = /^NID=[\x21-\x3a\x3c-\x7e]{1,4096}(?=\s*(;|$))/;

/** Upstream's cookie is valid for months; fetching a new one early costs one call. */
const LIFETIME_MS = WEEK_MS;

/** Stores the NID cookie for all workers. Any answer may renew it. */
function createNidCookie(redis: Redis, key: string): Cookies {
  return {
    current: () => redis.get(key),

    async learn({ setCookies }: HttpResponse) {
      const [cookie] = setCookies.flatMap((text) => NID.exec(text)?.[0] ?? []);
      if (cookie === undefined) return false;
      const previous = await redis.set(key, cookie, 'PX', LIFETIME_MS, 'GET');
      return cookie !== previous;
    },
  };
}

/**
 * The site limits each of its three endpoints separately. Explore accepts about 90 calls in a burst and 60 a minute
 * (measured); these limits are lower, because all workers may share one address. The limits of the others are unknown.
 */
const PACES = {
  explore: { intervalMs: 1_000, burst: 30 },
  widgetData: { intervalMs: 500, burst: 60 },
  trending: { intervalMs: 500, burst: 60 },
} as const satisfies Record<string, Pace>;

/** Creates the client of the Trends site. @param deps.provider its name, for the state that all workers share. */
export function openTrends(deps: {
  baseUrl: string;
  provider: string;
  http: HttpClient;
  redis: Redis;
  keys: RedisKeys;
  clock: Clock;
}): Trends {
  const { baseUrl, provider, http, redis, keys, clock } = deps;
  const cookies = createNidCookie(redis, keys.cookie(provider));
  const endpoint = (name: keyof typeof PACES, options: { cookies?: Cookies } = {}) => {
    const pacer = createPacer(redis, keys.pacing(`${provider}/${name}`), PACES[name], clock);
    return createRateLimitedEndpoint({ http, pacer, clock, ...options });
  };
  return {
    ...createKeywordClient({
      baseUrl,
      explore: createExploreClient({ baseUrl, cookies, endpoint: endpoint('explore', { cookies }) }),
      widgetData: endpoint('widgetData'),
    }),
    ...createTrendingClient({ baseUrl, endpoint: endpoint('trending') }),
  };
}
