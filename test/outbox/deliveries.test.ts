import fc from 'fast-check';
import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, expect } from 'vitest';
import { ensureAccount } from '../../src/accounts/accounts.ts';
import { claimDue } from '../../src/outbox/claims.ts';
import { findMessage, purgeMessages } from '../../src/outbox/log.ts';
import { ATTEMPTS_KEPT, type Attempt, type ClaimedMessage, recordOutcome } from '../../src/outbox/queue.ts';
import { enqueue, enqueueAll, KEPT_DAYS, replayDelivery } from '../../src/outbox/webhooks/deliveries.ts';
import { CLAIM_MS, createWebhookSender } from '../../src/outbox/webhooks/webhook-sender.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/log.ts';
import { TestClock } from '../support/clock.ts';
import { test } from '../support/souk-test.ts';

const NOW = Date.parse('2026-05-01T00:00:00Z');
const MANY = { atOnce: 1_000, perHost: 1_000, perAccount: 1_000, hostsPerAccount: 200 };
const claiming = (limits = MANY) => ({ channel: 'webhook' as const, claimMs: CLAIM_MS, limits });

const log = createLogger('silent');
let database: Database;
let accounts: number[];
test.beforeAll(async ({ database: opened }) => {
  database = opened;
});
beforeEach(async () => {
  const emails = ['one@test.example', 'two@test.example', 'three@test.example'];
  accounts = await Promise.all(emails.map((email) => ensureAccount(database, email, email, NOW)));
});
afterEach(() => database.query('delete from outbox'));

const event = (url = 'https://example.com/hook', account = 0) => ({
  accountId: accounts[account] ?? 0,
  url,
  type: 'batch.completed',
  data: { batchId: 'b1' },
});
const ok: Attempt = { status: 200, error: null, isFinal: false, durationMs: 20, response: 'fine' };
const down: Attempt = { status: 503, error: 'Down.', isFinal: false, durationMs: 20, response: null };
/** Records an attempt as the loop of a worker does. */
const record = (message: ClaimedMessage, attempt: Attempt, now: number) =>
  recordOutcome(
    database,
    createWebhookSender({ database, clock: new TestClock(), log, allowPrivate: true }),
    message,
    attempt,
    now,
  );
const find = (id: string) => findMessage(database, { channel: 'webhook', accountId: accounts[0] ?? 0 }, id);
const claim = (now: number, limits = MANY) => claimDue(database, claiming(limits), [], now);

async function claimOne(now: number): Promise<ClaimedMessage> {
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
    expect(await find(id)).toMatchObject({
      state: 'pending',
      attempts: 0,
      recipient: 'https://example.com/hook',
    });
    await client.query('begin');
    const undone = await enqueue(client, event(), NOW);
    await client.query('rollback');
    expect(await find(undone)).toBeNull();
  } finally {
    client.release();
  }
});

test('keeps the id of the caller, and ignores a second event with the same id', async () => {
  const id = uuid();
  expect(await enqueue(database, { ...event(), id }, NOW)).toBe(id);
  expect(await enqueue(database, { ...event('https://elsewhere.example/'), id }, NOW)).toBe(id);
  expect(await find(id)).toMatchObject({ recipient: 'https://example.com/hook' });
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
    limits: fc.record({
      atOnce: fc.integer({ min: 6, max: 14 }),
      perHost: limit,
      perAccount: limit,
      hostsPerAccount: fc.constant(9),
    }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ due, underWay, limits }) => {
      await database.query('delete from outbox');
      await enqueueAll(
        database,
        due.map(({ account, host }) => event(`https://${hosts[host]}/`, account)),
        NOW,
      );
      const busy = underWay.map(({ account, host }) => ({
        accountId: accounts[account] ?? 0,
        host: hosts[host] ?? '',
      }));
      const claimed = await claimDue(database, claiming(limits), busy, NOW);
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
        const more = await claimDue(database, claiming(limits), all, NOW);
        if (more.length === 0) break;
        all.push(...more);
      }
      const { rows: left } = await database.query<{ accountId: number; host: string }>(
        'select account_id as "accountId", host from outbox where claimed_until is null',
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

test('counts an attempt once if it is recorded twice', async () => {
  const id = await enqueue(database, event(), NOW);
  const claimed = await claimOne(NOW);
  for (let i = 0; i < 2; i += 1) {
    await record(claimed, down, NOW + 20);
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
  await record(late, down, NOW + CLAIM_MS + 5);
  expect(await find(id)).toMatchObject({ state: 'pending', attempts: 1, lastStatus: null });
  // The new claim still holds.
  expect(await claim(NOW + CLAIM_MS + 10)).toEqual([]);
  await record(next, ok, NOW + CLAIM_MS + 20);
  expect(await find(id)).toMatchObject({ state: 'delivered', attempts: 2, lastStatus: 200 });
});

test('ignores the outcome of an attempt whose delivery was deleted', async () => {
  await enqueue(database, event(), NOW);
  const claimed = await claimOne(NOW);
  await database.query('delete from outbox');
  await record(claimed, ok, NOW);
  expect((await database.query('select 1 from outbox_attempts')).rowCount).toBe(0);
});

test('a replay during an attempt starts no second attempt, and keeps the retry schedule', async () => {
  const id = await enqueue(database, event(), NOW);
  const claimed = await claimOne(NOW);
  expect(await replayDelivery(database, accounts[0] ?? 0, id, NOW + 1)).toMatchObject({ state: 'pending' });
  expect(await claim(NOW + 1)).toEqual([]);
  await record(claimed, down, NOW + 20);
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
  for (const one of claimed) await record(one, ok, NOW + 1);
  const hosts = (await claim(NOW + 2, limits)).map(({ host }) => host);
  expect(hosts.sort()).toEqual([3, 3, 4, 4, 5, 5].map((i) => `host${i}.example`));
});

test('a delivery to one host is claimed although more other hosts than slots have long queues', async () => {
  const limits = { atOnce: 16, perHost: 4, perAccount: 8, hostsPerAccount: 100 };
  const many = Array.from({ length: 1_200 }, (_, i) => event(`https://busy${i % 20}.example/`));
  await enqueueAll(database, many, NOW);
  const other = await enqueue(database, event('https://z.example/'), NOW + 1);
  const claimed = new Set<string>();
  // Each claim takes it with a probability of 8 in 21.
  for (let i = 0; i < 60 && !claimed.has(other); i += 1) {
    for (const one of await claim(NOW + 1, limits)) {
      claimed.add(one.id);
      await record(one, ok, NOW + 1);
    }
  }
  expect(claimed).toContain(other);
});

test('accounts take turns: one that was served before waits for the others, although its deliveries are due longer', async () => {
  const of = (account: number) => event(`https://host${account}.example/`, account);
  await enqueueAll(database, [of(0), of(0), of(1), of(1)], NOW);
  await enqueue(database, of(2), NOW + 1);
  const [one = 0, two = 0, three = 0] = accounts;
  const claimed: number[] = [];
  for (let i = 0; i < 5; i += 1) {
    const [next] = await claimDue(database, claiming({ ...MANY, atOnce: 1 }), [], NOW + 1, claimed.slice(-3));
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
    await record(await claimOne(at), ok, at + 20);
  }
  const log = (await find(id))?.log ?? [];
  expect([log.length, log[0]?.attempt, log.at(-1)?.attempt]).toEqual([ATTEMPTS_KEPT, 4, ATTEMPTS_KEPT + 3]);
  expect((await database.query('select 1 from outbox_attempts')).rowCount).toBe(ATTEMPTS_KEPT);
});

test('a replay does not keep a delivery for longer', async () => {
  const id = await enqueue(database, event(), NOW);
  await record(await claimOne(NOW), ok, NOW);
  const late = NOW + KEPT_DAYS * 86_400_000 - 1_000;
  await replayDelivery(database, accounts[0] ?? 0, id, late);
  await record(await claimOne(late), ok, late);
  await purgeMessages(database, late + 1_001);
  expect(await find(id)).toBeNull();
});

test('keeps the newest ended deliveries of each account, and every pending one', async () => {
  const pending = await enqueue(database, event(), NOW + 1);
  const ids = await enqueueAll(database, [event(), event(), event(), event(undefined, 1)], NOW);
  for (const one of await claim(NOW)) await record(one, ok, NOW);
  await purgeMessages(database, NOW, 2);
  const { rows } = await database.query<{ id: string }>('select id from outbox order by id');
  expect(rows.map(({ id }) => id)).toEqual([pending, ...ids.slice(1)]);
});

test('deletes ended deliveries and their attempts after thirty days, and keeps pending ones', async () => {
  const done = await enqueue(database, event(), NOW);
  await record(await claimOne(NOW), ok, NOW);
  const pending = await enqueue(database, event(), NOW);
  const end = NOW + KEPT_DAYS * 86_400_000;
  await purgeMessages(database, end);
  expect(await find(done)).toMatchObject({ state: 'delivered' });
  await purgeMessages(database, end + 1);
  expect([await find(done), (await find(pending))?.state]).toEqual([null, 'pending']);
  expect((await database.query('select 1 from outbox_attempts')).rowCount).toBe(0);
});
