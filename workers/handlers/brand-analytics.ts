import { reverseAsins } from '../../src/brand-analytics/asin-reverse.ts';
import { describeRows, titlesByAsin } from '../../src/brand-analytics/rank-row.ts';
import { walkRanks } from '../../src/brand-analytics/rank-walk.ts';
import { searchTerms } from '../../src/brand-analytics/search.ts';
import type { LoadedWeek } from '../../src/brand-analytics/weeks.ts';
import { findInWeek, findWord, historyOf, type Word } from '../../src/brand-analytics/word.ts';
import { type AsinReverseInput, asinReverse } from '../../src/operations/brand-analytics/asin-reverse.ts';
import { type ReportSite, siteOfWord } from '../../src/operations/brand-analytics/keywords.ts';
import { type RankInput, rank } from '../../src/operations/brand-analytics/rank.ts';
import { reportDates } from '../../src/operations/brand-analytics/report-dates.ts';
import { keywordSearch } from '../../src/operations/brand-analytics/search.ts';
import { word, wordGoods, wordHistory } from '../../src/operations/brand-analytics/word.ts';
import { addDays } from '../../src/platform/calendar.ts';
import { SoukError } from '../../src/platform/errors.ts';
import { handleExport } from './export.ts';
import type { HandlersOf } from './handler.ts';
import { fromReports, type Reports, weekIsGone } from './reports.ts';

const handleAsinReverse = fromReports(asinReverse, async (input: AsinReverseInput, { database, weeks }) => {
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
});

/** Returns the weeks whose Saturday is within the dates; without dates, the latest week of each site. */
function weeksOf(weeks: readonly LoadedWeek[], { startDate, endDate }: AsinReverseInput): LoadedWeek[] {
  if (startDate === undefined && endDate === undefined)
    return weeks.filter(({ site }, i) => weeks.findIndex((one) => one.site === site) === i);
  return weeks.filter(({ week }) => week >= (startDate ?? '') && week <= (endDate ?? '9999'));
}

const handleRank = fromReports(rank, async (input: RankInput, { database, weeks }) => {
  const { country, reportDate, rankMin = 1, rankMax, limit, offset, afterRank = 0, ...filter } = input;
  const week = reportDate === undefined ? weeks[0] : weeks.find((one) => one.week === reportDate);
  if (!week) throw weekIsGone(country, reportDate);
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
  const [last, next] = [page.at(-1), found[skip + page.length]];
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
    // A page by offset may end between terms of one rank, which then come again, so that none is skipped.
    nextAfterRank: last && next ? Math.min(last.rank, next.rank - 1) : null,
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

/** The number of weeks shown, and the number of weeks kept. */
const SHOWN_WEEKS = 52;
const KEPT_WEEKS = 104;

const handleWord = fromReports(word, async ({ wordId }, { database, weeks }) => {
  const { country, keyword, firstSeen } = await knownWord({ database, weeks }, wordId);
  const history = await historyOf(database, wordId, weeks.slice(0, KEPT_WEEKS));
  const seen = history.flatMap(({ reportDate, rank }) => (rank === null ? [] : { reportDate, rank }));
  const best = seen.reduce<(typeof seen)[number] | null>(
    (best, week) => (best === null || week.rank < best.rank ? week : best),
    null,
  );
  const last = seen.at(-1);
  const lastWeek = weeks.find(({ week }) => week === last?.reportDate);
  const rows = lastWeek ? await findInWeek(database, lastWeek, [wordId]) : [];
  const [row] = await describeRows(database, country, rows);
  return {
    word: {
      wordId,
      keyword,
      country,
      firstSeen,
      lastSeen: last?.reportDate ?? null,
      weeksSeen: seen.length,
      bestRank: best?.rank ?? null,
      bestRankDate: best?.reportDate ?? null,
    },
    current: row && lastWeek === weeks[0] ? row : null,
    history: history.slice(-SHOWN_WEEKS).map(({ goods: _, ...week }) => week),
    goods: row?.goods ?? [],
    goodsReportDate: row ? (lastWeek?.week ?? null) : null,
  };
});

const MOST_DATES = 20;

export const BRAND_ANALYTICS_HANDLERS: HandlersOf<'aba'> = {
  'aba.reportdates': fromReports(reportDates, async ({ country }, { weeks }) => ({
    country,
    dates: weeks.slice(0, MOST_DATES).map(({ week }) => week),
  })),

  'aba.rank': handleRank,

  'aba.search': fromReports(keywordSearch, async ({ country, keyword, limit }, { database, weeks }) => {
    const items = await searchTerms(database, country, weeks, { keyword, limit });
    return { country, keyword, items, count: items.length };
  }),

  'aba.word': handleWord,

  'aba.wordhistory': fromReports(wordHistory, async ({ wordId, limit }, { database, weeks }) => {
    const { country, keyword } = await knownWord({ database, weeks }, wordId);
    const history = await historyOf(database, wordId, weeks.slice(0, limit));
    const asins = history.flatMap(({ goods }) => goods.map(({ asin }) => asin));
    return { wordId, keyword, country, history, titles: await titlesByAsin(database, country, asins) };
  }),

  'aba.wordgoods': fromReports(wordGoods, async ({ wordId, reportDate }, { database, weeks }) => {
    const { country, keyword } = await knownWord({ database, weeks }, wordId);
    const week = weeks.find((one) => one.week === reportDate);
    const found = week ? await findInWeek(database, week, [wordId]) : [];
    const [row] = await describeRows(database, country, found);
    return { wordId, keyword, country, reportDate, rank: row?.rank ?? null, goods: row?.goods ?? [] };
  }),

  'aba.asinreverse': handleAsinReverse,

  'aba.export': handleExport,
};

/** Returns a term of the loaded weeks by its id. @throws SoukError WORD_NOT_FOUND. */
async function knownWord(
  { database, weeks }: Pick<Reports, 'database' | 'weeks'>,
  wordId: number,
): Promise<Word & { country: ReportSite }> {
  const country = siteOfWord(wordId);
  // Without a week, the terms may be those of another provider.
  const word = country && weeks.length > 0 && (await findWord(database, country, wordId));
  if (!word) throw new SoukError('WORD_NOT_FOUND', { message: `No keyword with the id ${wordId} exists.` });
  return { ...word, country };
}
