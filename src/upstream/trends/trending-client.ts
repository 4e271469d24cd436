import { beforeSending } from '../cancellation.ts';
import { TokensAwaited } from '../token-bucket.ts';
import { textOf } from './answer-text.ts';
import { readTrending, TRENDING_RPC, trendingCall } from './batchexecute.ts';
import { unknownGeo } from './explore-client.ts';
import { readFeed } from './feed.ts';
import type { RateLimitedEndpoint } from './rate-limited-endpoint.ts';
import { publicError, Refusal } from './refusal.ts';
import type { TrendingNow, TrendingQuestion, TrendsContext } from './trends.ts';
import { trendsUrl } from './trends-url.ts';

/** News articles for each trend. */
const ARTICLES = 3;

/** The windows that the site offers, and 191 hours, the longest window that it accepts. */
const WINDOWS_HOURS = [4, 24, 48, 168, 191];

/**
 * The trending API of the Trends site: a remote procedure with the full list, and a feed with ten trends as the
 * fallback.
 */
export function createTrendingClient(deps: { baseUrl: string; endpoint: RateLimitedEndpoint }): TrendingNow {
  const { baseUrl, endpoint } = deps;

  async function list({ geo, hl, hours }: TrendingQuestion, context: TrendsContext) {
    const url = trendsUrl(baseUrl, '/_/TrendsUi/data/batchexecute', { rpcids: TRENDING_RPC });
    const call = trendingCall({
      geo,
      language: languageOf(hl),
      hours: windowReaching(hours),
      articles: ARTICLES,
    });
    return endpoint.ask(
      { method: 'POST', url, form: { 'f.req': call } },
      ({ body }) => readTrending(body),
      context,
    );
  }

  async function feed({ geo }: TrendingQuestion, context: TrendsContext) {
    const url = trendsUrl(baseUrl, '/trending/rss', { geo });
    return endpoint.ask({ method: 'GET', url }, ({ body }) => readFeed(textOf(body)), context);
  }

  return {
    async trending(question, context) {
      try {
        return { source: 'trending_now', trends: await list(question, context) };
      } catch (error) {
        const { log } = context;
        if (error instanceof Refusal && error.kind === 'badArgument') throw unknownGeo(question.geo);
        if (error instanceof TokensAwaited || !question.allowFeed || beforeSending(context).aborted)
          throw publicError(error, context);
        log.warn({ reason: String(error) }, 'failed to fetch the list of trends; using the feed');
      }
      try {
        return { source: 'rss', trends: await feed(question, context) };
      } catch (error) {
        throw publicError(error, context);
      }
    },
  };
}

/** Returns the shortest window that covers this number of hours. */
function windowReaching(hours: number): number {
  return WINDOWS_HOURS.find((window) => window >= hours) ?? Math.max(...WINDOWS_HOURS);
}

/** Upstream uses language codes without region here, except for Chinese, where the region determines the script. */
function languageOf(hl: string): string {
  const { language } = new Intl.Locale(hl);
  return language === 'zh' ? hl : language;
}
