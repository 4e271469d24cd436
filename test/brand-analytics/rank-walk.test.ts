import { beforeAll, expect, test } from 'vitest';
import { type RankFilter, walkRanks } from '../../src/brand-analytics/rank-walk.ts';
import { type LoadedWeek, loadedWeeks } from '../../src/brand-analytics/weeks.ts';
import { openTestDatabase } from '../support/database.ts';
import { csvReport, load, REPORTS } from '../support/reports.ts';

/** Ranks at the start and the end of windows, and far after the last window. */
const RANKS = [
  1, 2, 16_383, 16_384, 16_385, 32_768, 32_769, 131_072, 131_073, 262_144, 262_145, 1_310_720, 1_310_721,
  3_000_000, 8_191_999, 8_192_000, 8_192_001, 50_000_000, 1_999_999_999, 2_000_000_000,
];

const database = await openTestDatabase();
let week: LoadedWeek;
beforeAll(async () => {
  const rows = RANKS.flatMap((rank) => [
    { term: `tent number ${rank}`, rank, brands: ['Nordwell'] },
    { term: `lamp number ${rank}`, rank, brands: ['Kestrel'] },
  ]);
  await load(database, 'us', csvReport('2026-03-07', rows));
  const [loaded] = await loadedWeeks(database, REPORTS, 'us');
  if (!loaded) throw new Error('no week is loaded');
  week = loaded;
});

async function walked(filter: RankFilter, count: number, { after = 0, to = week.lastRank } = {}) {
  return walkRanks(database, week, { filter, after, to, count });
}

test.each<RankFilter>([
  { keyword: 'tents' },
  { brand: 'nordwell' },
  { keyword: 'number', brand: 'NORDWELL' },
])('finds matching rows in every window of ranks: %j', async (filter) => {
  expect((await walked(filter, 100)).map(({ rank }) => rank)).toEqual(RANKS);
  for (const [i, rank] of RANKS.entries()) {
    const one = { after: rank - 1, to: rank };
    expect((await walked(filter, 100, one)).map(({ term }) => term)).toEqual([`tent number ${rank}`]);
    expect((await walked(filter, 2, { after: rank })).map((row) => row.rank)).toEqual(
      RANKS.slice(i + 1, i + 3),
    );
  }
});

test('a page has all rows of its last rank, with and without filters', async () => {
  for (const filter of [{}, { keyword: 'number' }])
    expect((await walked(filter, 3)).map(({ rank }) => rank)).toEqual([1, 1, 2, 2]);
});
