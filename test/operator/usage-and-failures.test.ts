import { expect } from 'vitest';
import { tokenHistory } from '../../src/operator/account-facts.ts';
import { BOUND_COLUMNS, createTokenSums, createUsageStatistics } from '../../src/operator/call-records.ts';
import { failedCallsOf, searchFailures } from '../../src/operator/failure-search.ts';
import { retentionNotes } from '../../src/operator/redis-contents.ts';
import { usageByOperation } from '../../src/operator/usage-report.ts';
import { createLogger } from '../../src/platform/log.ts';
import { knowsEveryProduct, newAsin } from '../support/answers.ts';
import { staffOf } from '../support/customer.ts';
import { PLENTY } from '../support/scripted-upstream.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', { gateways: 2, workers: 2, operator: { adminToken: 'only-for-the-operator' } });
let souk: Souk;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
});

const product = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;

async function figures() {
  const to = souk.clock.now();
  return usageByOperation(souk.database, { from: to - 3_600_000, to });
}

test('usage statistics sum calls, units and tokens over all processes', async () => {
  souk.upstream.on('product', (call, response) => ({
    json: {
      ...(knowsEveryProduct(call, response) as { json: object }).json,
      ...PLENTY,
      tokensConsumed: 3,
    },
  }));
  const { key } = await souk.account();
  const asins = [newAsin(), newAsin(), newAsin()];
  for (const [i, asin] of asins.entries())
    expect((await souk.clientOf(key, i % 2).get(product(asin))).status).toBe(200);
  // This call is answered from the cache, for another account, at the other gateway.
  const other = await souk.account();
  expect((await souk.clientOf(other.key, 1).get(product(asins[0] ?? ''))).headers['x-cache']).toBe('HIT');
  await expect
    .poll(async () => {
      souk.clock.advance(5_000);
      return figures();
    })
    .toEqual([{ operation: 'market.product', calls: 4, unitsSold: 4, tokensSpent: 9, tokensSaved: 3 }]);
  const { rows: hours } = await souk.database.query(
    `select cache_hits, failed, jobs, jobs - (${BOUND_COLUMNS.join(' + ')}) as beyond from operation_hours
     where operation = 'market.product'`,
  );
  expect(hours).toEqual([{ cache_hits: 1, failed: 0, jobs: 3, beyond: 0 }]);
  const { rows } = await souk.database.query<{ units: number }>(
    "select sum(units_charged)::int as units from calls where state = 'settled'",
  );
  expect(rows[0]?.units).toBe(4);
});

test('the tokens saved by the cache are those of the margin, without data that another call was fetching', async () => {
  const { database, clock } = souk;
  const log = createLogger('silent');
  const call = { operation: 'test.saved', accountId: 1, callId: '' };
  for (const sink of [createUsageStatistics(database, clock, log), createTokenSums(database, clock, log)]) {
    sink.onEvent({ type: 'answer.hit', ...call, tokens: 1 });
    sink.onEvent({ type: 'source.hit', ...call, tokens: 2, isMerged: false });
    sink.onEvent({ type: 'source.hit', ...call, tokens: 4, isMerged: true });
    await sink.close();
  }
  const { rows } = await database.query(
    `select h.tokens_saved as saved, d.cached, d.merged from operation_hours h join token_days d using (operation)
     where operation = 'test.saved'`,
  );
  expect(rows).toEqual([{ saved: 3, cached: 3_000, merged: 4_000 }]);
});

test('finds a failure by the error id or job id of the customer, with its internal reason', async () => {
  const asin = newAsin();
  souk.upstream.on('product', () => ({
    status: 400,
    json: { error: { type: 'odd', message: 'no such thing' } },
  }));
  const { accountId, key } = await souk.account();
  const reply = await souk.clientOf(key).get(product(asin));
  const errorId = String(reply.json.metadata?.errorId);
  expect([reply.status, reply.json.code]).toEqual([502, 'UPSTREAM_ERROR']);
  expect(reply.text).not.toContain('no such thing');
  await expect
    .poll(async () => {
      souk.clock.advance(1_000);
      return searchFailures(souk.database, { id: errorId, before: null, limit: 10 });
    })
    .toMatchObject([{ code: 'UPSTREAM_ERROR', place: 'market.product', errorId, accountId }]);
  await expect
    .poll(async () => {
      souk.clock.advance(5_000);
      return (await souk.database.query('select sum(failed)::integer as failed from operation_hours')).rows;
    })
    .toEqual([{ failed: 1 }]);
  const jobId = reply.headers['x-job-id'] ?? '';
  for (const id of [errorId, jobId])
    expect(await failedCallsOf(souk.database, id, 10)).toMatchObject([{ accountId, callId: jobId }]);

  const { visitor: operator } = await staffOf(souk);
  for (const id of [errorId, jobId]) {
    const page = await operator.get(`/admin/errors?q=${id}`);
    expect(page.text).toContain('HTTP 400, odd: no such thing');
    expect(page.text).toContain(jobId);
  }
  expect((await operator.get('/admin/errors?q=nothing-of-the-kind')).text).toContain('No failures found.');
});

test("finds an internal error by its request id, and stores no customer's key with it", async () => {
  const { accountId, key } = await souk.account();
  // A trigger makes the database refuse a valid statement.
  await souk.database.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'no room for ${key}'; end $$;
     create trigger refuse before insert on webhook_secrets for each row execute function refuse()`,
  );
  const reply = await souk.clientOf(key).post('/api/webhooks/secret', {});
  await souk.database.query('drop trigger refuse on webhook_secrets');
  expect([reply.status, reply.json.code]).toEqual([500, '5000']);
  const id = reply.headers['x-request-id'] ?? '';
  await expect
    .poll(async () => {
      souk.clock.advance(1_000);
      return (await searchFailures(souk.database, { id, before: null, limit: 10 })).map(
        ({ reason }) => reason,
      );
    })
    .toEqual([expect.stringContaining('no room for km_***')]);
  expect(accountId).toBeGreaterThan(0);
});

test('records the token balance once a minute, and deletes failures older than 30 days', async () => {
  const { clock, database, providers } = souk;
  const old = new Date(clock.now() - 31 * 86_400_000);
  await database.query("insert into failures (at, code, place, reason) values ($1, '5000', 'old', 'old')", [
    old,
  ]);
  await expect
    .poll(async () => {
      clock.advance(60_000);
      return (await tokenHistory(database, providers.products, clock.now() - 3_600_000)).length;
    })
    .toBeGreaterThan(2);
  const course = await tokenHistory(database, providers.products, 0);
  expect(new Set(course.map(({ at }) => Math.floor(at.getTime() / 60_000))).size).toBe(course.length);
  const { rows } = await database.query("select 1 from failures where place = 'old'");
  expect(rows).toEqual([]);
});

test('one of two workers creates a missing partition, notes it once, and is due again after an hour', async () => {
  const partition = `ledger_${new Date().toISOString().slice(0, 7).replace('-', '_')}`;
  await souk.database.query(`drop table ${partition}`);
  souk.clock.advance(3_600_000);
  await expect
    .poll(async () => {
      souk.clock.advance(60_000);
      return (await retentionNotes(souk.database, 10)).map(({ note }) => note);
    })
    .toEqual([`Created ${partition}`]);
  const pauseMs = async () => {
    const { rows } = await souk.database.query<{ ms: number }>(
      "select extract(epoch from until - at)::integer * 1000 as ms from leases, retention_notes where name = 'retention'",
    );
    return rows[0]?.ms;
  };
  await expect.poll(pauseMs).toBeGreaterThan(3_500_000);
});
