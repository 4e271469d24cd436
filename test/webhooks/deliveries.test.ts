import fc from 'fast-check';
import { v7 as uuid } from 'uuid';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { ensureAccount } from '../../src/accounts/accounts.ts';
import { type Database, openDatabase } from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/log.ts';
import { CLAIM_MS, type ClaimedDelivery, claimDue } from '../../src/webhooks/claims.ts';
import { ATTEMPTS_KEPT, enqueue, enqueueAll, recordAttempt } from '../../src/webhooks/deliveries.ts';
import { findDelivery, KEPT_DAYS, purgeDeliveries, replayDelivery } from '../../src/webhooks/delivery-log.ts';
import { verdictOf } from '../../src/webhooks/retry-schedule.ts';
import type { Outcome } from '../../src/webhooks/send.ts';
import { createTestDatabase } from '../support/database.ts';

const NOW = Date.parse('2026-05-01T00:00:00Z');
const MANY = { atOnce: 1_000, perHost: 1_000, perAccount: 1_000 };

let stores: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
let accounts: number[];
beforeAll(async () => {
  stores = await createTestDatabase();
  database = openDatabase(stores.url, createLogger('silent'));
});
afterAll(async () => {
  await database.end();
  await stores.drop();
});
beforeEach(async () => {
  const emails = ['one@test.example', 'two@test.example', 'three@test.example'];
  accounts = await Promise.all(emails.map((email) => ensureAccount(database, email, email, NOW)));
});
afterEach(() => database.query('delete from webhook_deliveries'));

const event = (url = 'https://example.com/hook', account = 0) => ({
  accountId: accounts[account] ?? 0,
  url,
  type: 'batch.completed',
  data: { batchId: 'b1' },
});
const ok: Outcome = { status: 200, error: null, durationMs: 20, response: 'fine' };
const down: Outcome = { status: 503, error: 'Down.', durationMs: 20, response: null };
const find = (id: string) => findDelivery(database, accounts[0] ?? 0, id);
const claim = (now: number, limits = MANY) => claimDue(database, [], limits, now);

async function claimOne(now: number): Promise<ClaimedDelivery> {
  const [claimed, ...others] = await claim(now);
  if (!claimed || others.length > 0) throw new Error('Exactly one delivery was expected to be due.');
  return claimed;
}

test('a delivery exists once its transaction commits, and not if it rolls back', async () => {
  const client = await database.connect();
  try {
    await client.query('begin');
    const id = await enqueue(client, event(), NOW);
    expect(await find(id)).toBeNull();
    await client.query('commit');
    expect(await find(id)).toMatchObject({ state: 'pending', attempts: 0, url: 'https://example.com/hook' });
    await client.query('begin');
    const undone = await enqueue(client, event(), NOW);
    await client.query('rollback');
    expect(await find(undone)).toBeNull();
  } finally {
    client.release();
  }
});

test('the stored payload has type, timestamp, mode and data, and is claimed byte for byte', async () => {
  const at = Date.parse('2026-04-30T23:59:59.500Z');
  const id = await enqueue(database, { ...event(), at }, NOW);
  const payload =
    '{"type":"batch.completed","timestamp":"2026-04-30T23:59:59.500Z","livemode":true,"data":{"batchId":"b1"}}';
  expect((await find(id))?.payload).toBe(payload);
  expect((await claimOne(NOW)).payload).toBe(payload);
});

test('keeps the id of the caller, and ignores a second event with the same id', async () => {
  const id = uuid();
  expect(await enqueue(database, { ...event(), id }, NOW)).toBe(id);
  expect(await enqueue(database, { ...event('https://elsewhere.example/'), id }, NOW)).toBe(id);
  expect(await find(id)).toMatchObject({ url: 'https://example.com/hook' });
  expect(await enqueueAll(database, [], NOW)).toEqual([]);
});

test('a delivery is claimed once until its claim expires, also by concurrent processes', async () => {
  const ids = await enqueueAll(
    database,
    Array.from({ length: 60 }, () => event()),
    NOW,
  );
  const rounds = await Promise.all(Array.from({ length: 6 }, () => claim(NOW, { ...MANY, atOnce: 20 })));
  const claimed = rounds.flat().map(({ id }) => id);
  expect(new Set(claimed).size).toBe(claimed.length);
  // Deliveries that the concurrent claims left out are claimed next.
  claimed.push(...(await claim(NOW)).map(({ id }) => id));
  expect(claimed.sort()).toEqual([...ids].sort());
  expect(await claim(NOW + CLAIM_MS - 1)).toEqual([]);
  expect(await claim(NOW + CLAIM_MS)).toHaveLength(60);
});

test('claims the deliveries that have been due longest first', async () => {
  const late = await enqueue(database, event('https://late.example/'), NOW + 2);
  const early = await enqueue(database, event('https://early.example/', 1), NOW);
  const middle = await enqueue(database, event('https://middle.example/'), NOW + 1);
  expect(await claim(NOW - 1)).toEqual([]);
  const order: string[] = [];
  for (let i = 0; i < 3; i += 1) {
    order.push(...(await claim(NOW + 5, { ...MANY, atOnce: 1 })).map(({ id }) => id));
  }
  expect(order).toEqual([early, middle, late]);
});

test('claims exceed no limit, and leave no free slot that a due delivery could use', async () => {
  const hosts = ['a.example', 'b.example', 'c.example:8080'];
  const pair = fc.record({ account: fc.nat(2), host: fc.nat(2) });
  const limit = fc.integer({ min: 1, max: 5 });
  const cases = fc.record({
    due: fc.array(pair, { maxLength: 25 }),
    underWay: fc.array(pair, { maxLength: 6 }),
    limits: fc.record({ atOnce: fc.integer({ min: 6, max: 14 }), perHost: limit, perAccount: limit }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ due, underWay, limits }) => {
      await database.query('delete from webhook_deliveries');
      await enqueueAll(
        database,
        due.map(({ account, host }) => event(`https://${hosts[host]}/`, account)),
        NOW,
      );
      const busy = underWay.map(({ account, host }) => ({
        accountId: accounts[account] ?? 0,
        host: hosts[host] ?? '',
      }));
      const claimed = await claimDue(database, busy, limits, NOW);
      const all = [...busy, ...claimed];
      const ofHost = (name: string) => all.filter(({ host }) => host === name).length;
      const ofAccount = (id: number) => all.filter(({ accountId }) => accountId === id).length;
      expect(all.length).toBeLessThanOrEqual(Math.max(limits.atOnce, busy.length));
      for (const { host, accountId } of claimed) {
        expect(ofHost(host)).toBeLessThanOrEqual(limits.perHost);
        expect(ofAccount(accountId)).toBeLessThanOrEqual(limits.perAccount);
      }
      // Repeated claims take every delivery that fits.
      for (;;) {
        const more = await claimDue(database, all, limits, NOW);
        if (more.length === 0) break;
        all.push(...more);
      }
      const { rows: left } = await database.query<{ accountId: number; host: string }>(
        'select account_id as "accountId", host from webhook_deliveries where claimed_until is null',
      );
      const fits = left.filter(
        ({ accountId, host }) =>
          all.length < limits.atOnce &&
          ofHost(host) < limits.perHost &&
          ofAccount(accountId) < limits.perAccount,
      );
      expect(fits).toEqual([]);
    }),
    { numRuns: 40 },
  );
});

test('logs each attempt with its number, status and the start of the response', async () => {
  const id = await enqueue(database, event(), NOW);
  const first = await claimOne(NOW);
  await recordAttempt(database, first, down, verdictOf(503, 0, NOW + 20), NOW + 20);
  const again = NOW + 5_020;
  expect(await claim(again - 1)).toEqual([]);
  const second = await claimOne(again);
  expect(second).toMatchObject({ id, retries: 1 });
  await recordAttempt(database, second, ok, verdictOf(200, 1, again + 20), again + 20);
  expect(await find(id)).toMatchObject({
    state: 'delivered',
    attempts: 2,
    lastStatus: 200,
    lastError: null,
    nextAttemptAt: null,
    finishedAt: new Date(again + 20),
    log: [
      { number: 1, at: new Date(NOW), status: 503, error: 'Down.', durationMs: 20, response: null },
      { number: 2, at: new Date(again), status: 200, error: null, durationMs: 20, response: 'fine' },
    ],
  });
  expect(await claim(again + 1_000_000_000)).toEqual([]);
});

test('counts an attempt once if it is recorded twice', async () => {
  const id = await enqueue(database, event(), NOW);
  const claimed = await claimOne(NOW);
  for (let i = 0; i < 2; i += 1) {
    await recordAttempt(database, claimed, down, verdictOf(503, 0, NOW + 20), NOW + 20);
  }
  expect(await find(id)).toMatchObject({
    attempts: 1,
    state: 'pending',
    nextAttemptAt: new Date(NOW + 5_020),
  });
  expect((await find(id))?.log).toHaveLength(1);
});

test('logs an attempt that ends after its claim expired, and leaves the new claim unchanged', async () => {
  const id = await enqueue(database, event(), NOW);
  const late = await claimOne(NOW);
  const next = await claimOne(NOW + CLAIM_MS);
  await recordAttempt(database, late, down, { state: 'failed' }, NOW + CLAIM_MS + 5);
  expect(await find(id)).toMatchObject({ state: 'pending', attempts: 1, lastStatus: null });
  // The new claim still holds.
  expect(await claim(NOW + CLAIM_MS + 10)).toEqual([]);
  await recordAttempt(database, next, ok, { state: 'delivered' }, NOW + CLAIM_MS + 20);
  expect(await find(id)).toMatchObject({ state: 'delivered', attempts: 2, lastStatus: 200 });
});

test('ignores the outcome of an attempt whose delivery was deleted', async () => {
  await enqueue(database, event(), NOW);
  const claimed = await claimOne(NOW);
  await database.query('delete from webhook_deliveries');
  await recordAttempt(database, claimed, ok, { state: 'delivered' }, NOW);
  expect((await database.query('select 1 from webhook_attempts')).rowCount).toBe(0);
});

test('a replay during an attempt starts no second attempt, and keeps the retry schedule', async () => {
  const id = await enqueue(database, event(), NOW);
  const claimed = await claimOne(NOW);
  expect(await replayDelivery(database, accounts[0] ?? 0, id, NOW + 1)).toMatchObject({ state: 'pending' });
  expect(await claim(NOW + 1)).toEqual([]);
  await recordAttempt(database, claimed, down, verdictOf(503, 0, NOW + 20), NOW + 20);
  expect((await claimOne(NOW + 5_020)).retries).toBe(1);
});

test('a claim considers a limited number of hosts of an account, and those of every account', async () => {
  const limits = { ...MANY, hostsPerAccount: 3 };
  const many = Array.from({ length: 9 }, (_, i) => event(`https://host${i}.example/`));
  await enqueueAll(database, [...many, ...many.map((one) => ({ ...one, accountId: accounts[1] ?? 0 }))], NOW);
  const other = await enqueue(database, event('https://other.example/', 2), NOW + 1);
  const claimed = await claim(NOW + 1, limits);
  expect(claimed).toHaveLength(7);
  expect(claimed.map(({ id }) => id)).toContain(other);
  // The next hosts follow when the deliveries to these have ended.
  for (const one of claimed) await recordAttempt(database, one, ok, { state: 'delivered' }, NOW + 1);
  const hosts = (await claim(NOW + 2, limits)).map(({ host }) => host);
  expect(hosts.sort()).toEqual([3, 3, 4, 4, 5, 5].map((i) => `host${i}.example`));
});

test('accounts take turns: one that was served before waits for the others, although its deliveries are due longer', async () => {
  const of = (account: number) => event(`https://host${account}.example/`, account);
  await enqueueAll(database, [of(0), of(0), of(1), of(1)], NOW);
  await enqueue(database, of(2), NOW + 1);
  const [one = 0, two = 0, three = 0] = accounts;
  const claimed: number[] = [];
  for (let i = 0; i < 5; i += 1) {
    const [next] = await claimDue(database, [], { ...MANY, atOnce: 1 }, NOW + 1, claimed.slice(-3));
    claimed.push(next?.accountId ?? 0);
  }
  expect(new Set(claimed.slice(0, 3))).toEqual(new Set([one, two, three]));
  expect(claimed.slice(3)).toEqual(claimed.slice(0, 3).filter((id) => id !== three));
});

test('keeps the newest attempts of a delivery that is replayed again and again', async () => {
  const id = await enqueue(database, event(), NOW);
  for (let i = 0; i < ATTEMPTS_KEPT + 3; i += 1) {
    const at = NOW + i * 1_000;
    await replayDelivery(database, accounts[0] ?? 0, id, at);
    await recordAttempt(database, await claimOne(at), ok, { state: 'delivered' }, at + 20);
  }
  const log = (await find(id))?.log ?? [];
  expect([log.length, log[0]?.number, log.at(-1)?.number]).toEqual([ATTEMPTS_KEPT, 4, ATTEMPTS_KEPT + 3]);
  expect((await database.query('select 1 from webhook_attempts')).rowCount).toBe(ATTEMPTS_KEPT);
});

test('a replay does not keep a delivery for longer', async () => {
  const id = await enqueue(database, event(), NOW);
  await recordAttempt(database, await claimOne(NOW), ok, { state: 'delivered' }, NOW);
  const late = NOW + KEPT_DAYS * 86_400_000 - 1_000;
  await replayDelivery(database, accounts[0] ?? 0, id, late);
  await recordAttempt(database, await claimOne(late), ok, { state: 'delivered' }, late);
  await purgeDeliveries(database, late + 1_001);
  expect(await find(id)).toBeNull();
});

test('keeps the newest ended deliveries of each account, and every pending one', async () => {
  const pending = await enqueue(database, event(), NOW + 1);
  const ids = await enqueueAll(database, [event(), event(), event(), event(undefined, 1)], NOW);
  for (const one of await claim(NOW)) await recordAttempt(database, one, ok, { state: 'delivered' }, NOW);
  await purgeDeliveries(database, NOW, 2);
  const { rows } = await database.query<{ id: string }>('select id from webhook_deliveries order by id');
  expect(rows.map(({ id }) => id)).toEqual([pending, ...ids.slice(1)]);
});

test('deletes ended deliveries and their attempts after thirty days, and keeps pending ones', async () => {
  const done = await enqueue(database, event(), NOW);
  await recordAttempt(database, await claimOne(NOW), ok, { state: 'delivered' }, NOW);
  const pending = await enqueue(database, event(), NOW);
  const end = NOW + KEPT_DAYS * 86_400_000;
  await purgeDeliveries(database, end);
  expect(await find(done)).toMatchObject({ state: 'delivered' });
  await purgeDeliveries(database, end + 1);
  expect([await find(done), (await find(pending))?.state]).toEqual([null, 'pending']);
  expect((await database.query('select 1 from webhook_attempts')).rowCount).toBe(0);
});
