import { reverseAsins } from '../../../src/brand-analytics/asin-reverse.ts';
import type { LoadedWeek } from '../../../src/brand-analytics/weeks.ts';
import { type AsinReverseInput, asinReverse } from '../../../src/operations/brand-analytics/asin-reverse.ts';
import { fromReports } from './from-reports.ts';

export const handleAsinReverse = fromReports(
  asinReverse,
  async (input: AsinReverseInput, { database, weeks }) => {
    const { asins, limit, startDate, endDate } = input;
    const wanted = weeksOf(weeks, input);
    const found = await reverseAsins(database, wanted, asins, limit);
    const items = asins.map((asin) => {
      const keywords = found.get(asin) ?? [];
      const shown = keywords.slice(0, limit);
      return { asin, count: shown.length, truncated: keywords.length > limit, keywords: shown };
    });
    return {
      items,
      startDate: startDate ?? wanted.at(-1)?.week ?? null,
      endDate: endDate ?? wanted[0]?.week ?? null,
    };
  },
);

/** Returns the weeks whose Saturday is within the dates; without dates, the latest week of each site. */
function weeksOf(weeks: readonly LoadedWeek[], { startDate, endDate }: AsinReverseInput): LoadedWeek[] {
  if (startDate === undefined && endDate === undefined)
    return weeks.filter(({ site }, i) => weeks.findIndex((one) => one.site === site) === i);
  return weeks.filter(({ week }) => week >= (startDate ?? '') && week <= (endDate ?? '9999'));
}
