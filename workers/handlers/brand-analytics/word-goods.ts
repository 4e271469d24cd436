import { describeRows } from '../../../src/brand-analytics/rank-row.ts';
import { findInWeek } from '../../../src/brand-analytics/word.ts';
import { wordGoods } from '../../../src/operations/brand-analytics/word-goods.ts';
import { fromReports } from './from-reports.ts';
import { knownWord } from './known-word.ts';

export const handleWordGoods = fromReports(wordGoods, async ({ wordId, reportDate }, { database, weeks }) => {
  const { country, keyword } = await knownWord(database, wordId);
  const week = weeks.find((one) => one.week === reportDate);
  const [row] = week ? await describeRows(database, country, await findInWeek(database, week, [wordId])) : [];
  return { wordId, keyword, country, reportDate, rank: row?.rank ?? null, goods: row?.goods ?? [] };
});
