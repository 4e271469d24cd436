import { expect } from 'vitest';
import { resultsOf } from '../support/batches.ts';
import { csvReport, load } from '../support/reports.ts';
import { createSchedule, ended, passHour, runsMade } from '../support/schedules.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';

const WEEK = '2026-02-14';

test('a schedule of keywords makes its calls at its time, and its results can be read and are charged', async ({
  souk,
  client,
  upstream: _,
}) => {
  const products: [string, string, string, string][] = [['B0RESEARC1', 'A lamp', '12.5', '8']];
  const terms = ['desk lamp', 'tent'].map((term, i) => ({ term, rank: i + 1, products }));
  await load(souk.database, 'us', csvReport(WEEK, terms));
  const schedule = await createSchedule(client, {
    name: 'Keywords',
    cron: '0 * * * *',
    batch: {
      operation: 'research.keyword',
      params: { country: 'us', weeks: 4 },
      split: { keyword: ['desk lamp', 'tent'] },
    },
  });
  expect(schedule).toMatchObject({ operation: 'research.keyword', items: 2, units: 8 });
  passHour(souk);
  const [run] = await runsMade(souk, client, schedule, 1);
  if (!run) throw new Error('there is no run');
  const batch = await ended(souk, client, run);
  expect(batch).toMatchObject({ state: 'done', counts: { done: 2 } });
  const lines = await resultsOf(client, batch);
  expect(lines.map(({ code, data }) => [code, data.keyword, data.week, data.rank.current])).toEqual([
    ['0000', 'desk lamp', WEEK, 1],
    ['0000', 'tent', WEEK, 2],
  ]);
  expect(lines[0]?.data.products[0]).toMatchObject({ asin: 'B0RESEARC1', clickShare: 12.5 });
  expect(batch.units.charged).toBe(await unitsUsed(client));
  expect(batch.units.charged).toBeGreaterThan(0);
});
