import { historyOf } from '../../../src/brand-analytics/word.ts';
import { wordHistory } from '../../../src/operations/brand-analytics/word-history.ts';
import { fromReports } from './from-reports.ts';
import { knownWord } from './known-word.ts';

export const handleWordHistory = fromReports(wordHistory, async ({ wordId, limit }, { database, weeks }) => {
  const { country, keyword } = await knownWord(database, wordId);
  return { wordId, keyword, country, history: await historyOf(database, wordId, weeks.slice(0, limit)) };
});
