import { expect, onTestFinished } from 'vitest';
import { openQueues } from '../../jobs/queues.ts';
import type { ActivityReport } from '../../src/operator/activity/activity.ts';
import { recordQueues } from '../../src/operator/activity/keep-activity.ts';
import { createLogger } from '../../src/platform/log.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { staffOf } from '../support/customer.ts';
import type { Souk } from '../support/souk.ts';
import { soukCommand } from '../support/souk-command.ts';
import { test } from '../support/souk-test.ts';

const TOKEN = 'only-for-the-operator';

test.override('soukOptions', { workers: 0, operator: { adminToken: TOKEN } });

const headers = { authorization: `Bearer ${TOKEN}` };

async function report(souk: Souk, query = ''): Promise<ActivityReport> {
  const reply = await souk.clientOf('').raw(`/api/operator/activity${query}`, { headers });
  return (JSON.parse(reply.text) as { data: ActivityReport }).data;
}

/** The values of a series that are known. */
const known = ({ charts }: ActivityReport, name: string) =>
  charts
    .flatMap(({ series }) => series)
    .find(({ id }) => id === name)
    ?.values.filter((value) => value !== null);

test('the page, the API and the command show the same figures, each with its source and formula', async ({
  souk,
  account,
}) => {
  expect(account.accountId).toBeGreaterThan(0);
  const { database, clock } = souk;
  await database.query(
    `insert into operation_hours (hour, operation, calls, units_sold, cache_hits, failed, jobs, ms_50, ms_200)
     values (date_trunc('hour', $1::timestamptz), 'market.product', 80, 90, 20, 20, 60, 50, 10)`,
    [new Date(clock.now())],
  );
  const { visitor } = await staffOf(souk, 'observer');
  const page = await visitor.get('/admin/activity?range=24h');
  expect(page.status).toBe(200);
  expect(page.text).toMatch(/Units 90 .*Hit rate 25% .*Errors 20%/);
  expect(page.text).toMatch(/market\.product 80 90 0 25% 20% 60 0\.2s/);
  // For one day, tables have hours with their zone.
  const hour = `${new Date(clock.now()).toISOString().slice(0, 13).replace('T', ' ')}:00 UTC`;
  expect(page.text).toContain(`${hour} 25%`);
  expect(page.text).not.toContain('null');
  const data = await report(souk, '?range=24h');
  expect([data.starts.length, data.step]).toEqual([24, 'hour']);
  for (const { title, source, formula } of data.charts)
    for (const text of [title, `Source: ${source}.`, `Formula: ${formula}.`])
      expect(page.text.replaceAll(/\s+/g, ' ')).toContain(text);
  expect(known(data, 'hitRate')).toEqual([25]);
  expect((await visitor.get('/admin/activity')).text).toContain('By day in UTC');
  const command = soukCommand({ DATABASE_URL: souk.databaseUrl });
  const { charts } = (await command.json(['activity', '--range', '24h'])) as ActivityReport;
  // The command has the clock of the machine.
  expect(charts.map(({ id, formula }) => [id, formula])).toEqual(
    data.charts.map(({ id, formula }) => [id, formula]),
  );
});

test('the hour has the most jobs that waited at a reading', async ({ souk, account, redis }) => {
  expect(account.accountId).toBeGreaterThan(0);
  const { database, clock } = souk;
  const queues = openQueues(redis, redisKeys(souk.redisNamespace), createLogger('silent'));
  onTestFinished(() => queues.close());
  await recordQueues(database, queues, clock.now());
  const job = await queues.of('graph').add('graph', {} as never);
  await recordQueues(database, queues, clock.now());
  await job.remove();
  await recordQueues(database, queues, clock.now());
  expect(known(await report(souk, '?range=24h'), 'graph')).toEqual([1]);
});

test('refuses an unknown range with 400', async ({ souk }) => {
  const reply = await souk.clientOf('').raw('/api/operator/activity?range=1y', { headers });
  expect(reply.status).toBe(400);
  expect(reply.text).toContain('must be one of 24h, 30d, 365d');
  const { visitor } = await staffOf(souk, 'observer');
  expect((await visitor.get('/admin/activity?range=1y')).status).toBe(400);
});
