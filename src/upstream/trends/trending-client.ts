import { XMLParser } from 'fast-xml-parser';
import { z } from 'zod';
import type { Trend } from '../../operations/trends/trending.ts';
import { parseJson } from '../../platform/json.ts';
import { beforeSending } from '../http-client.ts';
import { TokensAwaited } from '../token-bucket.ts';
import { unknownGeo } from './keyword-client.ts';
import { publicError, type RateLimitedEndpoint, Refusal, trendsUrl } from './rate-limited-endpoint.ts';
import type { TrendingNow, TrendingQuestion, TrendsContext } from './trends.ts';
import { guardedText, textOf } from './widgets.ts';

/** The remote procedure that lists trends. */
const TRENDING_RPC = 'i0OFE';

/** Returns the form field that calls it. */
export function trendingCall(question: {
  geo: string;
  language: string;
  hours: number;
  articles: number;
}): string {
  const { geo, language, hours, articles } = question;
  const args = JSON.stringify([null, null, geo, articles, language, hours]);
  return JSON.stringify([[[TRENDING_RPC, args, null, 'generic']]]);
}

const END_OF_9999 = 253_402_300_799;

/** Unix seconds within the range of dates. */
const moment = z.tuple([z.int().min(0).max(END_OF_9999)], z.unknown());
const article = z
  .tuple([z.string(), z.string()], z.unknown())
  .transform(([title, url, source, time, imageUrl]) => ({
    title,
    url,
    source: typeof source === 'string' ? source : '',
    publishedAt: moment.safeParse(time).data?.[0] ?? null,
    imageUrl: typeof imageUrl === 'string' ? imageUrl : null,
  }));

/** An item has 13 slots, of which some are unused. */
const item = z
  .array(z.unknown())
  .min(10)
  .transform((slots, context): Trend => {
    const [title, articles, , start, end, , volume, , growth, queries, topicIds] = slots;
    const result = facts.safeParse({ title, articles, start, end, volume, growth, queries, topicIds });
    if (!result.success) {
      context.issues.push({ code: 'custom', message: result.error.message, input: slots });
      return z.NEVER;
    }
    const { data } = result;
    return {
      title: data.title,
      startedAt: data.start[0],
      endedAt: data.end?.[0] ?? null,
      active: !data.end,
      searchVolume: data.volume,
      increasePercentage: data.growth,
      topicIds: data.topicIds ?? [],
      queries: data.queries ?? [],
      articles: data.articles ?? [],
    };
  });

const facts = z.object({
  title: z.string(),
  articles: z.array(article).nullish(),
  start: moment,
  end: moment.nullish(),
  volume: z.number().min(0),
  growth: z.number(),
  queries: z.array(z.string()).nullish(),
  topicIds: z.array(z.number()).nullish(),
});

const payload = z.tuple([z.unknown(), z.array(item).nullish()], z.unknown());

/**
 * Reads the trends of an answer, which is one JSON array or a stream of arrays, each preceded by a line with its length.
 * The lengths are ignored, since every part is one line.
 * @throws Refusal `badArgument` when the answer rejects the arguments with HTTP 200.
 */
export function readTrending(body: Buffer): Trend[] {
  const row = rowsOf(guardedText(body)).find(([kind, rpc]) => kind === 'wrb.fr' && rpc === TRENDING_RPC);
  if (!row) throw new Refusal('malformed', 'the answer has no result of the call');
  const [, , text, , , error] = row;
  if (typeof text !== 'string') {
    const said = `HTTP 200 with error ${JSON.stringify(error)}`;
    throw new Refusal(isBadArgument(error) ? 'badArgument' : 'failed', said);
  }
  const result = payload.safeParse(jsonIn(text));
  if (!result.success) throw new Refusal('malformed', `unexpected list of trends at ${pathOf(result.error)}`);
  return result.data[1] ?? [];
}

const BAD_ARGUMENT = 3;

function isBadArgument(error: unknown): boolean {
  return Array.isArray(error) && error[0] === BAD_ARGUMENT;
}

function rowsOf(text: string): unknown[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('['))
    .flatMap((line) => {
      const rows = jsonIn(line);
      return Array.isArray(rows) ? rows.filter((row): row is unknown[] => Array.isArray(row)) : [];
    });
}

function jsonIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new Refusal('malformed', 'the answer breaks off', { cause });
  }
}

function pathOf({ issues }: z.ZodError): string {
  return issues[0]?.path.join('.') ?? '';
}

/** Ignores namespace prefixes, because the namespace address has changed before. */
const parser = new XMLParser({
  removeNSPrefix: true,
  parseTagValue: false,
  ignoreDeclaration: true,
  // The parser decodes numeric character references, which XML has, only with the HTML entities.
  htmlEntities: true,
  isArray: (name) => name === 'item' || name === 'news_item',
});

const text = z.string().trim().catch('');
const newsItem = z.object({
  news_item_title: text,
  news_item_url: text,
  news_item_source: text,
  news_item_picture: text,
});
const feed = z.object({
  rss: z.object({
    channel: z.object({
      item: z
        .array(
          z.object({
            title: z.string(),
            approx_traffic: text,
            pubDate: z.string().refine((date) => !Number.isNaN(Date.parse(date))),
            news_item: z.array(newsItem).default([]),
          }),
        )
        .default([]),
    }),
  }),
});

/** Reads the ten trends of the feed, which lacks their growth, end, topics and searches. */
export function readFeed(xml: string): Trend[] {
  const result = feed.safeParse(parsedXml(xml));
  if (!result.success) throw new Refusal('malformed', 'unexpected content of the feed');
  return result.data.rss.channel.item.map(({ title, approx_traffic, pubDate, news_item }) => ({
    title,
    startedAt: Math.floor(Date.parse(pubDate) / 1000),
    endedAt: null,
    active: null,
    searchVolume: volumeOf(approx_traffic),
    increasePercentage: null,
    topicIds: null,
    queries: null,
    articles: news_item.map((news) => ({
      title: news.news_item_title,
      url: news.news_item_url,
      source: news.news_item_source,
      publishedAt: null,
      imageUrl: news.news_item_picture || null,
    })),
  }));
}

/** Parses `10000+`, or `200,000+` of older feeds; returns 0 for anything else. */
function volumeOf(traffic: string): number {
  const volume = Number(traffic.replaceAll(/\D/g, ''));
  return Number.isSafeInteger(volume) ? volume : 0;
}

function parsedXml(xml: string): unknown {
  try {
    return parser.parse(xml, true);
  } catch (cause) {
    throw new Refusal('malformed', 'the feed is not XML', { cause });
  }
}

/** News articles for each trend. */
const ARTICLES = 3;

/** The windows that the site offers, and 191 hours, the longest window that it accepts. */
const WINDOWS_HOURS = [4, 24, 48, 168, 191];

/** The trending API of the Trends site: a remote procedure with the full list, and a feed with ten trends as the fallback. */
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
