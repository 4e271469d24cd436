import type { dailyTrends } from '../../../src/operations/trends/daily-trends.ts';
import { single } from '../handler.ts';

const HOUR_MS = 3_600_000;
const DAY_HOURS = 24;

/** The window reaches to the beginning of the day. The feed has what is new only, so it will do for today. */
export const handleDailyTrends = single<typeof dailyTrends>(({ geo, hl, trendDate = '' }, context) => {
  const hours = (context.now() - Date.parse(trendDate)) / HOUR_MS;
  return context.upstream.trends.trending({ geo, hl, hours, feedWillDo: hours <= DAY_HOURS }, context);
});
