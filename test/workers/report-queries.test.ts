import { expect } from 'vitest';
import { loadedWeeks } from '../../src/brand-analytics/weeks.ts';
import { csvReport, load, REPORTS, ranked } from '../support/reports.ts';
import { test } from '../support/souk-test.ts';

test('cancels the queries of a job on reports at its deadline', async ({ souk, client }) => {
  await load(souk.database, 'us', csvReport('2026-04-11', ranked('tent')));
  const [week] = await loadedWeeks(souk.database, REPORTS, 'us');
  const waiting = async () => {
    const { rowCount } = await souk.database.query(
      `select 1 from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query like '%' || $1 || '%'`,
      [week?.table],
    );
    return rowCount;
  };
  // A query that takes longer than its job.
  const blocker = await souk.database.connect();
  await blocker.query('begin');
  await blocker.query(`lock table ${week?.table} in access exclusive mode`);
  const { status, headers } = await client.get('/api/aba/rank?country=us&async=1');
  expect(status).toBe(202);
  await expect.poll(waiting).toBe(1);

  const released = souk.events.next('call.released');
  souk.clock.advance(30_000);
  await released;
  // PostgreSQL notices within half a second that its client has closed the connection.
  await expect.poll(waiting).toBe(0);
  expect((await client.get(headers.location ?? '')).json.data).toMatchObject({
    state: 'failed',
    unitsCharged: 0,
    error: { code: 'UPSTREAM_TIMEOUT' },
  });
  await blocker.query('rollback');
  blocker.release();
});
