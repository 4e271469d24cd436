import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { importWeek, listImports } from '../../src/brand-analytics/import/import-week.ts';
import { openTestDatabase } from '../support/database.ts';
import { csvReport, load, REPORTS, ranked } from '../support/reports.ts';

const database = await openTestDatabase();

const newest = async () => (await listImports(database, 1))[0];

test('lists an import while it runs, and its outcome afterwards', async () => {
  await load(database, 'us', csvReport('2026-03-07', ranked('tent', 'boat', 'lamp')));
  expect(await newest()).toMatchObject({
    site: 'us',
    week: '2026-03-07',
    state: 'done',
    rowsRead: 3,
    isAlive: false,
  });

  const file = new PassThrough();
  const text = csvReport('2026-03-14', ranked('tent', 'boat'));
  file.write(text.slice(0, text.length - 20));
  const imported = importWeek(database, {
    file,
    site: 'us',
    provider: REPORTS,
    now: Date.parse('2026-03-20'),
  });
  await expect.poll(newest).toMatchObject({ site: 'us', state: 'reading', isAlive: true, rowsExpected: 3 });
  file.end(text.slice(text.length - 20));
  await imported;
  expect(await newest()).toMatchObject({
    week: '2026-03-14',
    state: 'done',
    rowsRead: 2,
    isAlive: false,
    reason: null,
  });
});

test('lists a failed import with its reason, and shows isAlive: false for an import whose process died', async () => {
  await expect(load(database, 'de', 'no report')).rejects.toThrow();
  expect(await newest()).toMatchObject({
    site: 'de',
    state: 'failed',
    isAlive: false,
    reason: expect.any(String),
  });

  const file = new PassThrough();
  const imported = importWeek(database, {
    file,
    site: 'fr',
    provider: REPORTS,
    now: Date.parse('2026-03-20'),
  });
  imported.catch(() => {});
  await expect.poll(newest).toMatchObject({ site: 'fr', isAlive: true });
  // The state after its process was killed: the row has no outcome.
  const note = await newest();
  file.end('no report');
  await imported.catch(() => {});
  await database.query("update aba_imports set state = 'reading', reason = null where id = $1", [note?.id]);
  expect(await newest()).toMatchObject({ site: 'fr', state: 'reading', isAlive: false });
});
