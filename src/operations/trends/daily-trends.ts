import { z } from 'zod';
import { invalidParameters } from '../../platform/errors.ts';
import { defineQueued } from '../define.ts';
import { addDays, date } from '../params/dates.ts';
import { geoWithinWorld } from '../params/geo.ts';
import { language } from '../params/language.ts';
import { request } from '../params/request.ts';
import { maxStale, type StaleInput, staleUpTo } from './stale-data.ts';
import { listSource, shownTrend, TREND_COLUMNS, type Trend, type TrendList, trendRecord } from './trend.ts';

export interface DailyTrendsInput extends StaleInput {
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
  toolset: 'trends',
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
  price: { text: '1', quote: () => 1 },
  pools: ['trends'],
  freshness: 'maxStale',
  queue: () => 'trends',
  source: ({ geo, hl, trendDate, ...stale }) => [
    { key: '', identity: `trends/daily/${geo}/${hl}/${trendDate}`, ...staleUpTo(stale) },
  ],
  table: { columns: () => TREND_COLUMNS, rows: ({ trends }) => trends as Record<string, unknown>[] },
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
