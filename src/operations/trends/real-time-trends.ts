import { z } from 'zod';
import { defineQueued } from '../define.ts';
import { geoWithinWorld } from '../params/geo.ts';
import { language } from '../params/language.ts';
import { request } from '../params/request.ts';
import { oneOf } from '../params/scalars.ts';
import { PROPERTIES, type Property, timezone } from './keyword-question.ts';
import { maxStale, type StaleInput, staleUpTo } from './stale-data.ts';
import { listSource, shownTrend, TREND_COLUMNS, type Trend, type TrendList, trendRecord } from './trend.ts';

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

export type TrendCategory = keyof typeof CATEGORIES;

const CATEGORY_NAMES = ['all', 'b', 'e', 't', 's', 'h', 'm'] as const satisfies readonly TrendCategory[];

export interface RealTimeTrendsInput extends StaleInput {
  geo: string;
  hl: string;
  category: TrendCategory;
  property: Property;
  timezone: number;
}

/** The current list with its time. */
export interface TrendsNow extends TrendList {
  /** Unix milliseconds. */
  updatedAt: number;
}

export const realTimeTrends = defineQueued<'trends.real-time-trends', RealTimeTrendsInput, TrendsNow>({
  name: 'trends.real-time-trends',
  summary: 'Lists the current trending searches.',
  tool: 'web_trends_real_time_trends',
  toolset: 'trends',
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
  price: { text: '1', quote: () => 1 },
  pools: ['trends'],
  freshness: 'maxStale',
  queue: () => 'trends',
  // The list changes every few minutes, so answers expire early.
  freshForMs: 60_000,
  source: ({ geo, hl, category, ...stale }) => [
    {
      key: '',
      identity: `trends/now/${geo}/${hl}${needsTopics(category) ? '/topics' : ''}`,
      ...staleUpTo(stale),
    },
  ],
  table: { columns: () => TREND_COLUMNS, rows: ({ trends }) => trends as Record<string, unknown>[] },
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
          ...{ geo, hl, category, property, timezone, source },
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
