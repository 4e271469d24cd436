import { describeRows } from '../../../src/brand-analytics/rank-row.ts';
import { walkRanks } from '../../../src/brand-analytics/rank-walk.ts';
import { type RankInput, rank } from '../../../src/operations/brand-analytics/rank.ts';
import { addDays } from '../../../src/platform/calendar.ts';
import { SoukError } from '../../../src/platform/errors.ts';
import { fromReports } from './from-reports.ts';

export const handleRank = fromReports(rank, async (input: RankInput, { database, weeks }) => {
  const { country, reportDate, rankMin = 1, rankMax, limit, offset, afterRank = 0, ...filter } = input;
  const week = reportDate === undefined ? weeks[0] : weeks.find((one) => one.week === reportDate);
  // The call was admitted, so the week was loaded a moment ago.
  if (!week)
    throw new SoukError('INTERNAL', { cause: new Error(`week ${reportDate} of ${country} is gone`) });
  const skip = offset ?? 0;
  const found = await walkRanks(database, week, {
    filter,
    after: Math.max(rankMin - 1, afterRank),
    to: rankMax ?? week.lastRank,
    // One more row shows whether there is a next page.
    count: skip + limit + 1,
  });
  const page = pageOf(found, skip, limit, offset === undefined);
  const rows = await describeRows(database, country, page);
  const isLast = skip + page.length >= found.length;
  const isUnfiltered =
    rankMin === 1 && rankMax === undefined && Object.values(filter).every((value) => value === undefined);
  const previous = addDays(week.week, -7);
  return {
    country,
    reportDate: week.week,
    previousReportDate: weeks.some((one) => one.week === previous) ? previous : null,
    rows,
    count: rows.length,
    limit,
    ...(offset === undefined ? { afterRank } : { offset }),
    nextAfterRank: isLast ? null : (rows.at(-1)?.rank ?? null),
    // Counting matching rows among three million is slow.
    total: offset !== undefined && isUnfiltered ? week.terms : null,
  };
});

/** With afterRank, a page never ends between rows of one rank, because the next page would skip the rest. */
function pageOf<Row extends { rank: number }>(
  rows: Row[],
  skip: number,
  limit: number,
  whole: boolean,
): Row[] {
  let end = skip + limit;
  const last = rows[end - 1];
  while (whole && last && rows[end]?.rank === last.rank) end += 1;
  return rows.slice(skip, end);
}
