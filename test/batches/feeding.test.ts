import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { grantPack } from '../../src/billing/grants.ts';
import { offPeakOpening } from '../../src/billing/off-peak.ts';
import { POOLS } from '../../src/operations/pools.ts';
import { knowsEveryProduct, newAsin } from '../support/answers.ts';
import { asinsFrom, batchNow, batchOnce, resultsOf, startBatch } from '../support/batches.ts';
import { balancesFromLedger, keptBalances } from '../support/books.ts';
import type { Client } from '../support/client.ts';
import { gate } from '../support/scripted-upstream.ts';
import { openSouk, type Souk, showLogOnFailure } from '../support/souk.ts';
import { unitsUsed } from '../support/units.ts';

const SHARE = POOLS.market.concurrency / 2;

// A batch passes through much work and much time.
vi.setConfig({ testTimeout: 60_000 });

let souk: Souk;
let letGo = () => {};
beforeEach(async () => {
  souk = await openSouk();
  souk.upstream.on('product', knowsEveryProduct);
  showLogOnFailure(souk);
});
afterEach(async () => {
  letGo();
  await souk.close();
});

const operation = 'market.product';
/** Alternating options, so that each item is a call of its own. */
const callsOf = (prefix: string, count: number) => ({
  operation,
  items: asinsFrom(prefix, count).map((asin, i) => ({ domain: 1, asin, history: i % 2 })),
});
const oneCallOf = (prefix: string, count: number) => ({
  operation,
  params: { domain: 1 },
  split: { asins: asinsFrom(prefix, count) },
});

/** Upstream answers nothing before the returned gate opens. */
async function holdUpstream() {
  const held = gate();
  letGo = held.open;
  // While nothing is known of the tokens only a few calls may be under way.
  await (await souk.client()).get(`/api/market/product?domain=1&asins=${newAsin()}`);
  souk.upstream.calls.length = 0;
  souk.upstream.on('product', async (...call) => {
    await held.reached;
    return knowsEveryProduct(...call);
  });
  return held;
}

async function booksAgree(accountId: number): Promise<void> {
  const now = souk.clock.now();
  expect(await keptBalances(souk.database, accountId, now)).toEqual(
    await balancesFromLedger(souk.database, accountId, now),
  );
}

const isWaiting = ({ state }: { state: string }) => state === 'waiting';
const isFinished = ({ finishedAt }: { finishedAt: string | null }) => finishedAt !== null;

test.each<[string, object, string, string]>([
  ['day', { dailyLimit: 5 }, 'QUOTA_DAILY_EXCEEDED', '2026-03-05T00:00:00.000Z'],
  ['month', { monthlyLimit: 5 }, 'QUOTA_MONTHLY_EXCEEDED', '2026-04-03T00:00:00.000Z'],
])(
  'a batch beyond the units of a %s waits for the next, says so, and goes on by itself',
  async (_, plan, reason, until) => {
    const client = await souk.client({ plan });
    const deadline = new Date(souk.clock.now() + 30 * 86_400_000).toISOString();
    const batch = await startBatch(client, { ...callsOf('B0LIMIT', 8), deadline });
    const waiting = await batchOnce(souk, client, batch, isWaiting);
    expect(waiting).toMatchObject({
      counts: { done: 5, failed: 0, pending: 3 },
      units: { charged: 5, reserved: 0 },
      waiting: { reason, until, message: expect.stringMatching(/used up/) },
    });
    souk.clock.advance(Date.parse(until) - souk.clock.now() - 2_000);
    expect((await batchNow(client, batch)).state).toBe('waiting');
    const after = await batchOnce(souk, client, batch, isFinished);
    expect(after).toMatchObject({ state: 'done', waiting: null, counts: { done: 8 }, units: { charged: 8 } });
  },
);

test('a call that costs more than is left is split, so that what is left is used', async () => {
  const { accountId, key } = await souk.account({ plan: { dailyLimit: 130 } });
  const client = souk.clientOf(key);
  const batch = await startBatch(client, oneCallOf('B0SPLIT', 200));
  const waiting = await batchOnce(souk, client, batch, isWaiting);
  expect(waiting).toMatchObject({ counts: { done: 130, pending: 70 }, units: { charged: 130, quoted: 200 } });
  await booksAgree(accountId);
  souk.clock.advance(14 * 3_600_000);
  expect(await batchOnce(souk, client, batch, isFinished)).toMatchObject({
    state: 'done',
    units: { charged: 200 },
  });
  const lines = await resultsOf(client, batch);
  expect(lines.map(({ data }) => data.products[0].asin)).toEqual(asinsFrom('B0SPLIT', 200));
  await booksAgree(accountId);
});

test('a call that cannot be split waits although some units are left', async () => {
  souk.upstream.on('search', () => ({ json: { products: [] } }));
  const client = await souk.client({ plan: { dailyLimit: 7 } });
  const items = ['kettle', 'lamp'].map((term) => ({ domain: 1, term }));
  const batch = await startBatch(client, { operation: 'market.productsearch', items });
  expect(await batchOnce(souk, client, batch, isWaiting)).toMatchObject({
    counts: { done: 1, pending: 1 },
    waiting: { reason: 'QUOTA_INSUFFICIENT_UNITS' },
  });
});

test("a batch leaves a fifth of a minute's calls to the account's other requests", async () => {
  const client = await souk.client({ plan: { minuteLimit: 10 } });
  const batch = await startBatch(client, callsOf('B0MINUTE', 20));
  const other = await startBatch(client, callsOf('B0MINOTHR', 4));
  const waiting = await batchOnce(souk, client, batch, isWaiting, 10);
  expect(waiting.waiting).toMatchObject({ reason: 'MINUTE_RESERVED', until: '2026-03-04T10:01:00.000Z' });
  const used = async () => (await client.get('/api/quota')).json.data.general.minute.used;
  expect(await used()).toBe(8);
  for (const asin of asinsFrom('B0INTER', 2))
    expect((await client.get(`/api/market/product?domain=1&asins=${asin}`)).status).toBe(200);
  // Time moves within the minute, and nothing more is taken from it.
  for (let i = 0; i < 5; i += 1) {
    souk.clock.advance(1_000);
    await expect.poll(used).toBe(10);
  }
  for (const one of [batch, other])
    expect(await batchOnce(souk, client, one, isFinished, 5_000)).toMatchObject({ counts: { failed: 0 } });
  expect(await unitsUsed(client)).toBe(26);
});

test('a batch waits while its account has nothing to draw on, and goes on once it has', async () => {
  const { accountId, key } = await souk.account({ plan: null });
  const client = souk.clientOf(key);
  const batch = await startBatch(client, callsOf('B0NOPLAN', 2));
  const waiting = await batchOnce(souk, client, batch, isWaiting);
  expect(waiting.waiting).toMatchObject({ reason: 'QUOTA_NO_SUBSCRIPTION' });
  const now = souk.clock.now();
  const validity = { validFrom: new Date(now), validUntil: new Date(now + 30 * 86_400_000) };
  const pack = { accountId, wallet: 'general', units: 1, rateLimitPerMinute: 60, ...validity } as const;
  await grantPack(souk.database, pack, now);
  const partly = await batchOnce(
    souk,
    client,
    batch,
    (now) => isWaiting(now) && now.counts.done === 1,
    5_000,
  );
  expect(partly.waiting?.reason).toMatch(/^QUOTA_/);
});

test('a batch of a disabled account waits, and goes on when it is enabled', async () => {
  const { accountId, key } = await souk.account();
  const client = souk.clientOf(key);
  const held = await holdUpstream();
  const batch = await startBatch(client, callsOf('B0DISAB', SHARE + 4));
  // Taken is not yet admitted: what upstream is asked is.
  await souk.upstream.received(SHARE, 'product');
  const setState = (state: string) =>
    souk.database.query('update accounts set state = $2 where id = $1', [accountId, state]);
  await setState('disabled');
  held.open();
  const waitingOf = async () => {
    souk.clock.advance(1_000);
    const { rows } = await souk.database.query('select waiting_reason, done_items from batches');
    return rows[0];
  };
  await expect.poll(waitingOf).toEqual({ waiting_reason: 'ACCOUNT_UNAVAILABLE', done_items: SHARE });
  await setState('active');
  expect(await batchOnce(souk, client, batch, isFinished, 5_000)).toMatchObject({
    counts: { done: SHARE + 4 },
  });
});

test('an off-peak batch waits for its window and is fed within it alone', async () => {
  const client = await souk.client();
  const batch = await startBatch(client, { ...callsOf('B0NIGHT', 3), window: 'off_peak' });
  const offPeak = { start: '19:00', end: '07:00', timezone: 'Asia/Shanghai' };
  const { isOpen, opensAt } = await offPeakOpening(souk.database, offPeak, souk.clock.now());
  expect(isOpen).toBe(false);
  const waiting = await batchOnce(souk, client, batch, isWaiting);
  expect(waiting.waiting).toEqual({
    reason: 'OFF_PEAK_WINDOW',
    message: 'The batch is for the off-peak window, which is closed.',
    until: new Date(opensAt).toISOString(),
  });
  souk.clock.advance(opensAt - souk.clock.now() - 5_000);
  await expect.poll(() => batchNow(client, batch)).toMatchObject({ state: 'waiting' });
  expect(souk.upstream.calls).toEqual([]);
  await batchOnce(souk, client, batch, isFinished);
  expect(souk.clock.now()).toBeGreaterThanOrEqual(opensAt);
});

test('no more is under way than half a pool takes, and no more reserved than that costs', async () => {
  const held = await holdUpstream();
  const { accountId, key } = await souk.account();
  const client = souk.clientOf(key);
  const batch = await startBatch(client, callsOf('B0HALF', 3 * SHARE));
  await souk.upstream.received(SHARE, 'product');
  for (let i = 0; i < 5; i += 1) {
    souk.clock.advance(1_000);
    const now = await batchNow(client, batch);
    expect(now).toMatchObject({ counts: { running: SHARE }, units: { reserved: SHARE, charged: 0 } });
    expect(await unitsUsed(client)).toBe(SHARE);
  }
  expect(souk.upstream.callsTo('product')).toHaveLength(SHARE);
  held.open();
  await batchOnce(souk, client, batch, isFinished);
  expect(await unitsUsed(client)).toBe(3 * SHARE);
  await booksAgree(accountId);
});

test('an interactive call is answered while a batch takes all it may', async () => {
  const held = await holdUpstream();
  const client = await souk.client();
  const batch = await startBatch(client, callsOf('B0BEHIND', 3 * SHARE));
  await souk.upstream.received(SHARE, 'product');
  souk.upstream.on('product', knowsEveryProduct);
  const others = [client, await souk.client()];
  for (const [i, other] of others.entries())
    expect((await other.get(`/api/market/product?domain=1&asins=B0AHEAD00${i}`)).status).toBe(200);
  expect(await batchNow(client, batch)).toMatchObject({ counts: { done: 0 } });
  held.open();
  await batchOnce(souk, client, batch, isFinished);
});

test('accounts take turns: a small batch is not behind a large one', async () => {
  const releases: (() => void)[] = [];
  (await holdUpstream()).open();
  letGo = () => {
    for (const release of releases) release();
  };
  souk.upstream.on('product', async (...call) => {
    await new Promise<void>((resolve) => releases.push(resolve));
    return knowsEveryProduct(...call);
  });
  const [many, few] = [await souk.client(), await souk.client()];
  const large = await startBatch(many, callsOf('B0LARGE', 4 * SHARE));
  await expect.poll(() => releases.length).toBe(SHARE);
  const small = await startBatch(few, callsOf('B0SMALL', 4));
  // As each call ends, one more is fed: of the account that has the fewest under way.
  const asked = () =>
    souk.upstream
      .callsTo('product')
      .slice(SHARE)
      .map(({ params }) => params.asin);
  while (releases.length < SHARE + 4) {
    const before = releases.length;
    releases[before - SHARE]?.();
    await expect.poll(() => releases.length).toBe(before + 1);
  }
  expect(asked()).toEqual(asinsFrom('B0SMALL', 4));
  let released = 4;
  const releaseAll = () => {
    for (; released < releases.length; released += 1) releases[released]?.();
    return true;
  };
  for (const [of, batch] of [
    [few, small],
    [many, large],
  ] as const)
    await batchOnce(souk, of as Client, batch, (now) => releaseAll() && isFinished(now), 100);
});

test('batches of one account take turns as well', async () => {
  const client = await souk.client();
  const held = await holdUpstream();
  const first = await startBatch(client, callsOf('B0TURNA', 4 * SHARE));
  await souk.upstream.received(SHARE, 'product');
  const second = await startBatch(client, callsOf('B0TURNB', 4));
  held.open();
  await batchOnce(souk, client, second, isFinished, 10);
  expect(await batchNow(client, first)).toMatchObject({ finishedAt: null });
  await batchOnce(souk, client, first, isFinished);
});

test('answers at hand are collected without a worker of their pool', async () => {
  const warm = await souk.client();
  const asins = asinsFrom('B0CACHED', 100);
  await warm.get(`/api/market/product?domain=1&asins=${asins.join(',')}`);
  const before = souk.upstream.calls.length;
  const { accountId, key } = await souk.account();
  const client = souk.clientOf(key);
  const batch = await startBatch(client, { operation, params: { domain: 1 }, split: { asins } });
  expect(await batchOnce(souk, client, batch, isFinished)).toMatchObject({ units: { charged: 100 } });
  expect(souk.upstream.calls).toHaveLength(before);
  const [line] = await resultsOf(client, batch);
  expect(line?.data.fromCache).toBe(true);
  await booksAgree(accountId);
});

test('what the account has asked already costs a batch nothing', async () => {
  const client = await souk.client();
  const asins = asinsFrom('B0JOIN', 5);
  const held = await holdUpstream();
  const interactive = client.get(`/api/market/product?domain=1&asins=${asins.join(',')}`);
  await souk.upstream.received(1);
  const batch = await startBatch(client, { operation, params: { domain: 1 }, split: { asins } });
  // Taken first, then found to be another's.
  await batchOnce(
    souk,
    client,
    batch,
    ({ counts, units }) => counts.running === 5 && units.reserved === 0,
    100,
  );
  held.open();
  expect((await interactive).headers['x-units-consumed']).toBe('5');
  expect(await batchOnce(souk, client, batch, isFinished)).toMatchObject({
    counts: { done: 5 },
    units: { quoted: 5, charged: 0 },
  });
  expect(await unitsUsed(client)).toBe(5);
  expect(await resultsOf(client, batch)).toHaveLength(5);
});
