import { TokensAwaited } from '../token-bucket.ts';
import { textOf } from './answer-text.ts';
import { readTrending, TRENDING_RPC, trendingCall } from './batchexecute.ts';
import type { Door } from './door.ts';
import { readFeed } from './feed.ts';
import { unknownGeo } from './keyword-client.ts';
import { publicError, Refusal } from './refusal.ts';
import type { TrendingNow, TrendingQuestion, TrendsContext } from './trends.ts';

/** News articles with each trend. */
const ARTICLES = 3;

/** The windows that the site itself offers, and the longest that is answered. */
const WINDOWS_HOURS = [4, 24, 48, 168, 191];

/**
 * The trending side of the Trends site: a remote procedure that lists everything, and a feed with ten trends for the time
 * when that does not work.
 */
export function createTrendingClient({ baseUrl, door }: { baseUrl: string; door: Door }): TrendingNow {
  async function list({ geo, hl, hours }: TrendingQuestion, context: TrendsContext) {
    const url = new URL(`${baseUrl}/_/TrendsUi/data/batchexecute`);
    url.searchParams.set('rpcids', TRENDING_RPC);
    const call = trendingCall({
      geo,
      language: languageOf(hl),
      hours: windowReaching(hours),
      articles: ARTICLES,
    });
    return door.ask(
      { method: 'POST', url, form: { 'f.req': call } },
      ({ body }) => readTrending(body),
      context,
    );
  }

  async function feed({ geo }: TrendingQuestion, context: TrendsContext) {
    const url = new URL(`${baseUrl}/trending/rss`);
    url.searchParams.set('geo', geo);
    return door.ask({ method: 'GET', url }, ({ body }) => readFeed(textOf(body)), context);
  }

  return {
    async trending(question, context) {
      try {
        return { source: 'trending_now', trends: await list(question, context) };
      } catch (error) {
        const { signal, log } = context;
        if (error instanceof Refusal && error.kind === 'badArgument') throw unknownGeo(question.geo);
        if (error instanceof TokensAwaited || !question.feedWillDo || signal.aborted)
          throw publicError(error, context);
        log.warn({ reason: String(error) }, 'the list of trends cannot be had; taking the feed');
      }
      try {
        return { source: 'rss', trends: await feed(question, context) };
      } catch (error) {
        throw publicError(error, context);
      }
    },
  };
}

/** The shortest window that reaches so far back. */
function windowReaching(hours: number): number {
  return WINDOWS_HOURS.find((window) => window >= hours) ?? Math.max(...WINDOWS_HOURS);
}

/** Upstream names languages without regions here, but for Chinese, where the region tells the script. */
function languageOf(hl: string): string {
  const { language } = new Intl.Locale(hl);
  return language === 'zh' ? hl : language;
}
