import { v7 as uuid } from 'uuid';
import { beforeEach, expect } from 'vitest';
import { createAccount } from '../../src/accounts/accounts.ts';
import { enqueueEndedJobs, watchJob } from '../../src/outbox/webhooks/job-webhooks.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { test } from '../support/souk-test.ts';

const NOW = Date.parse('2026-05-01T00:00:00Z');
const HOOK = 'https://example.com/hook';

let database: Database;
let accountId: number;
test.beforeAll(async ({ database: opened }) => {
  database = opened;
  accountId = (await createAccount(database, 'jobs@test.example', 'Test', NOW))?.id ?? 0;
});
beforeEach(() => database.query('truncate open_calls, finished_calls, call_webhooks, outbox cascade'));

/** Inserts admitted calls with a webhook each. @returns their ids. */
async function watchedCalls(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuid());
  await database.query(
    `insert into open_calls (account_id, id, operation, claim_key, pool, units_reserved, accepted_at, deadline_at)
     select $1, id, 'market.product', decode(replace(id::text, '-', ''), 'hex'), 'market', 1, $3, $3
     from unnest($2::uuid[]) as id`,
    [accountId, ids, new Date(NOW)],
  );
  await Promise.all(ids.map((callId) => watchJob(database, { accountId, callId, url: HOOK }, NOW)));
  return ids;
}

const end = (ids: string[]) =>
  database.query(
    `with ended as (delete from open_calls where id = any($1) returning *)
     insert into finished_calls (account_id, id, operation, claim_key, state, pool, units_reserved, units_charged,
       accepted_at, deadline_at, finished_at, attempts, background)
     select account_id, id, operation, claim_key, 'settled', pool, 1, 1, accepted_at, deadline_at, $2, 1, false from ended`,
    [ids, new Date(NOW + 500)],
  );

async function toldJobs(): Promise<string[]> {
  const { rows } = await database.query<{ payload: string }>('select payload from outbox');
  return rows.map(({ payload }) => JSON.parse(payload).data.jobId as string).sort();
}

const watched = async () => (await database.query('select 1 from call_webhooks')).rowCount;

test('concurrent processes create one delivery for each job, also for more jobs than one step takes', async () => {
  const ids = await watchedCalls(1_203);
  await end(ids);
  const counts = await Promise.all(Array.from({ length: 4 }, () => enqueueEndedJobs(database, NOW)));
  // A process that finds all rows locked creates none.
  expect(counts.reduce((a, b) => a + b)).toBe(1_203);
  expect([await toldJobs(), await watched()]).toEqual([ids.sort(), 0]);
});

test('creates all deliveries at the next attempt after an attempt has failed', async () => {
  const ids = await watchedCalls(3);
  await end(ids);
  await database.query(`alter table outbox add constraint no_more check (kind <> 'job.completed') not valid`);
  await expect(enqueueEndedJobs(database, NOW)).rejects.toThrow('no_more');
  expect([await toldJobs(), await watched()]).toEqual([[], 3]);
  await database.query('alter table outbox drop constraint no_more');
  expect(await enqueueEndedJobs(database, NOW)).toBe(3);
  expect(await toldJobs()).toEqual(ids.sort());
});
