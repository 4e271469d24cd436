import { describeRows, titlesByAsin } from '../../../src/brand-analytics/rank-row.ts';
import { searchTerms } from '../../../src/brand-analytics/search.ts';
import { findInWeek, historyOf } from '../../../src/brand-analytics/word.ts';
import { reportDates } from '../../../src/operations/brand-analytics/report-dates.ts';
import { keywordSearch } from '../../../src/operations/brand-analytics/search.ts';
import { wordGoods, wordHistory } from '../../../src/operations/brand-analytics/word.ts';
import type { HandlersOf } from '../handler.ts';
import { handleAsinReverse } from './asin-reverse.ts';
import { fromReports } from './from-reports.ts';
import { knownWord } from './known-word.ts';
import { handleRank } from './rank.ts';
import { handleWord } from './word.ts';

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
};
