import { z } from 'zod';
import { addDays } from '../../platform/calendar.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { SCHEMA_NAMES } from '../answers.ts';
import { defineQueued } from '../define.ts';
import { mayLackFields } from '../params/answer-form.ts';
import { geoWithinWorld, language } from '../params/geo.ts';
import { request } from '../params/request.ts';
import { date, oneOf } from '../params/scalars.ts';
import { columnsFrom, columnsOf, type Row } from '../tables/columns.ts';
import type { Table } from '../tables/tables.ts';
import {
  maxStale,
  OF_TRENDS,
  PROPERTIES,
  type Property,
  type StaleInput,
  staleUpTo,
  timezone,
} from './keyword-question.ts';

/** A term that is searched for much more often than usual. */
export interface Trend {
  title: string;
  /** Unix seconds. */
  startedAt: number;
  /** Unix seconds; null while the trend is active, or if the list comes from the feed. */
  endedAt: number | null;
  /** null if the list comes from the feed. */
  active: boolean | null;
  /** Minimum number of searches. */
  searchVolume: number;
  /** This field and the next two are null if the list comes from the feed. */
  increasePercentage: number | null;
  topicIds: number[] | null;
  /** Search terms of the trend, its title first. */
  queries: string[] | null;
  articles: TrendArticle[];
}

interface TrendArticle {
  title: string;
  url: string;
  source: string;
  /** Unix seconds. */
  publishedAt: number | null;
  imageUrl: string | null;
}

/** All trends of a region in a period, unordered. */
export interface TrendList {
  /** `rss`: the feed with ten trends, which is used when the full list is unavailable. */
  source: 'trending_now' | 'rss';
  trends: Trend[];
}

/** The columns of a table of trends. */
const TREND_COLUMNS = [
  'rank',
  'query',
  'searchVolume',
  'increasePercentage',
  'startedAt',
  'endedAt',
  'active',
] as const;

/** Upstream's topics of trends. They differ from the categories of keywords. */
const TOPICS: Record<number, string> = {
  1: 'Autos and Vehicles',
  2: 'Beauty and Fashion',
  3: 'Business and Finance',
  4: 'Entertainment',
  5: 'Food and Drink',
  6: 'Games',
  7: 'Health',
  8: 'Hobbies and Leisure',
  9: 'Jobs and Education',
  10: 'Law and Government',
  11: 'Other',
  13: 'Pets and Animals',
  14: 'Politics',
  15: 'Science',
  16: 'Shopping',
  17: 'Sports',
  18: 'Technology',
  19: 'Travel and Transportation',
  20: 'Climate',
};

/** Returns a trend in the form of an answer. */
function shownTrend(trend: Trend, index: number) {
  const { title, searchVolume, increasePercentage, startedAt, endedAt, active, topicIds, queries } = trend;
  return {
    rank: index + 1,
    query: title,
    searchVolume,
    formattedTraffic: `${shortened(searchVolume)}+`,
    increasePercentage,
    startedAt: isoTime(startedAt),
    endedAt: endedAt === null ? null : isoTime(endedAt),
    active,
    categories: topicIds?.map((id) => ({ id, name: TOPICS[id] ?? null })) ?? null,
    relatedQueries: queries ?? [],
    articles: trend.articles.map((article) => ({
      ...article,
      publishedAt: article.publishedAt === null ? null : isoTime(article.publishedAt),
    })),
  };
}

/** Returns the data with the columns of the table of each trend and the names of its topics, without articles. */
function withTrendColumns(data: Record<string, unknown>, input: object): Record<string, unknown> {
  if (mayLackFields(input)) return data;
  const trends = (data.trends as ReturnType<typeof shownTrend>[]).map((trend) => ({
    ...Object.fromEntries(TREND_COLUMNS.map((name) => [name, trend[name]])),
    topics: trend.categories?.map(({ id, name }) => name ?? id).join(', ') ?? null,
  }));
  return { ...data, trends };
}

const time = z.iso.datetime();

/** Schema of `shownTrend`. */
const trendRecord = z
  .object({
    rank: z.int().min(1),
    query: z.string(),
    searchVolume: z.int().describe('Minimum number of searches'),
    formattedTraffic: z.string().describe('searchVolume as text, such as 2K+'),
    increasePercentage: z.number().nullable(),
    startedAt: time,
    endedAt: time.nullable().describe('null while the trend is active, or if unknown'),
    active: z.boolean().nullable(),
    categories: z.array(z.object({ id: z.int(), name: z.string().nullable() })).nullable(),
    relatedQueries: z.array(z.string()),
    articles: z.array(
      z.object({
        title: z.string(),
        url: z.string(),
        source: z.string(),
        publishedAt: time.nullable(),
        imageUrl: z.string().nullable(),
      }),
    ),
  })
  .register(SCHEMA_NAMES, { id: 'Trend' });

const TREND_TABLE: Table<unknown> = {
  columns: () => [
    ...columnsFrom({ geo: ['text', 'Region, such as US'] }),
    ...columnsOf(trendRecord, TREND_COLUMNS, {
      rank: 'Position in the list, from 1',
      query: 'Search term',
      increasePercentage: 'Growth, in percent; empty if the list comes from the feed',
      startedAt: 'When the trend began',
      active: 'Whether the trend is active; empty if the list comes from the feed',
    }),
  ],
  *rows({ trends, geo }) {
    for (const one of trends as Row[]) yield { geo, ...one };
  },
};

/** Schema of the field that names the origin of a list. */
function listSource() {
  return z
    .enum(['trending_now', 'rss'])
    .nullable()
    .describe('rss: the feed with ten trends, used if the full list is unavailable');
}

/** Abbreviates a number: 2000 becomes 2K, 1500000 becomes 1.5M. */
function shortened(count: number): string {
  if (count >= 1_000_000) return `${count / 1_000_000}M`;
  return count >= 1000 ? `${count / 1000}K` : String(count);
}

function isoTime(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().replace('.000Z', 'Z');
}

interface DailyTrendsInput extends StaleInput {
  geo: string;
  hl: string;
  /** YYYY-MM-DD in UTC; `onDay` fills in the default. */
  trendDate?: string | undefined;
}

/** How many days upstream's lists go back. */
const OLDEST_DAYS = 7;

export const dailyTrends = defineQueued<'trends.daily-trends', DailyTrendsInput, TrendList>({
  name: 'trends.daily-trends',
  summary: 'Lists the trending searches that started on a day within the last week.',
  tool: 'web_trends_daily_trends',
  ...OF_TRENDS,
  routes: [{ method: 'GET', path: '/api/webtrends/daily-trends' }],
  params: request(
    {},
    {
      geo: geoWithinWorld('US'),
      hl: language(),
      trendDate: date()
        .optional()
        .describe(`Day in UTC, YYYY-MM-DD, at most ${OLDEST_DAYS} days ago; default: today`),
      maxStale: maxStale(),
    },
  ),
  onDay(input, today) {
    const { trendDate = today } = input;
    const oldest = addDays(today, -OLDEST_DAYS);
    if (trendDate < oldest || trendDate > today) {
      const problem = `must be a day from ${oldest} to ${today}, got ${trendDate}`;
      throw invalidParameters([{ parameter: 'trendDate', problem }]);
    }
    return { ...input, trendDate };
  },
  source: ({ geo, hl, trendDate, ...stale }) => [
    { key: '', identity: `trends/daily/${geo}/${hl}/${trendDate}`, ...staleUpTo(stale) },
  ],
  toolData: withTrendColumns,
  tables: { trends: TREND_TABLE },
  respond: {
    type: 'json',
    records: { path: 'trends' },
    answer: z.object({
      geo: z.string(),
      hl: z.string(),
      trendDate: z.iso.date(),
      source: listSource(),
      trends: z.array(trendRecord),
    }),
    present(found, { geo, hl, trendDate = '' }) {
      const { source = null, trends = [] } = found.get('') ?? {};
      const ofDay = trends.filter(({ startedAt }) => dayOf(startedAt) === trendDate).sort(byVolume);
      return { data: { geo, hl, trendDate, source, trends: ofDay.map(shownTrend) } };
    },
  },
});

/** Sorts by volume, then growth, then latest start. */
function byVolume(a: Trend, b: Trend): number {
  return (
    b.searchVolume - a.searchVolume ||
    (b.increasePercentage ?? 0) - (a.increasePercentage ?? 0) ||
    b.startedAt - a.startedAt
  );
}

function dayOf(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().slice(0, 10);
}

/** The category letters with upstream's topics; null for all topics. */
const CATEGORIES = {
  all: null,
  b: [3],
  e: [4],
  t: [15, 18],
  s: [17],
  h: [7],
  m: null,
} as const satisfies Record<string, readonly number[] | null>;

type TrendCategory = keyof typeof CATEGORIES;

const CATEGORY_NAMES = ['all', 'b', 'e', 't', 's', 'h', 'm'] as const satisfies readonly TrendCategory[];

interface RealTimeTrendsInput extends StaleInput {
  geo: string;
  hl: string;
  category: TrendCategory;
  property: Property;
  timezone: number;
}

/** The current list with its time. */
interface TrendsNow extends TrendList {
  /** Unix milliseconds. */
  updatedAt: number;
}

export const realTimeTrends = defineQueued<'trends.real-time-trends', RealTimeTrendsInput, TrendsNow>({
  name: 'trends.real-time-trends',
  summary: 'Lists the current trending searches.',
  tool: 'web_trends_real_time_trends',
  ...OF_TRENDS,
  routes: [{ method: 'GET', path: '/api/webtrends/real-time-trends' }],
  params: request(
    {},
    {
      geo: geoWithinWorld('US'),
      hl: language(),
      category: oneOf(CATEGORY_NAMES)
        .default('all')
        .describe('all, b business, e entertainment, t technology, s sports, h health, m general'),
      property: oneOf(PROPERTIES).default('web').describe('Has no effect'),
      timezone: timezone(),
      maxStale: maxStale(),
    },
  ),
  // The list changes every few minutes, so answers expire early.
  freshForMs: 60_000,
  source: ({ geo, hl, category, ...stale }) => [
    {
      key: '',
      identity: `trends/now/${geo}/${hl}${needsTopics(category) ? '/topics' : ''}`,
      ...staleUpTo(stale),
    },
  ],
  toolData: withTrendColumns,
  tables: { trends: TREND_TABLE },
  respond: {
    type: 'json',
    records: { path: 'trends' },
    answer: z.object({
      geo: z.string(),
      hl: z.string(),
      category: z.enum(CATEGORY_NAMES),
      property: z.enum(PROPERTIES),
      timezone: z.int().describe('Minutes east of UTC'),
      source: listSource(),
      updatedAt: z.iso.datetime().describe('When upstream updated the list'),
      trends: z.array(trendRecord),
    }),
    present(found, { geo, hl, category, property, timezone }) {
      const { source = null, trends = [], updatedAt = 0 } = found.get('') ?? {};
      const topics: readonly number[] | null = CATEGORIES[category];
      const shown = trends
        .filter(({ active }) => active !== false)
        .filter(({ topicIds }) => topics === null || topicIds?.some((id) => topics.includes(id)))
        .sort(byStart);
      return {
        data: {
          geo,
          hl,
          category,
          property,
          timezone,
          source,
          updatedAt: new Date(updatedAt).toISOString(),
          trends: shown.map(shownTrend),
        },
      };
    },
  },
});

/** Returns whether the category selects topics; then a list without topics cannot be used. */
export function needsTopics(category: TrendCategory): boolean {
  return CATEGORIES[category] !== null;
}

/** Sorts by start, newest first. */
function byStart(a: Trend, b: Trend): number {
  return b.startedAt - a.startedAt || b.searchVolume - a.searchVolume;
}
