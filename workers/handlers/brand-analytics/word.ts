import { describeRows } from '../../../src/brand-analytics/rank-row.ts';
import { findInWeek, historyOf } from '../../../src/brand-analytics/word.ts';
import { word } from '../../../src/operations/brand-analytics/word.ts';
import { fromReports } from './from-reports.ts';
import { knownWord } from './known-word.ts';

/** The number of weeks shown, and the number of weeks kept. */
const SHOWN_WEEKS = 52;
const KEPT_WEEKS = 104;

export const handleWord = fromReports(word, async ({ wordId }, { database, weeks }) => {
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
