import { expect, onTestFinished } from 'vitest';
import { grantPack } from '../../src/billing/grants.ts';
import { offPeakOpening } from '../../src/billing/wallets.ts';
import { POOLS } from '../../src/operations/pools.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { holdProducts, knowsEveryProduct } from '../support/answers.ts';
import { expectBalancesOfLedger } from '../support/balances.ts';
import {
  asinsFrom,
  batchNow,
  batchOnce,
  callsOf,
  finished,
  isFinished,
  isWaiting,
  learnTokens,
  resultsOf,
  startBatch,
} from '../support/batches.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';

const SHARE = POOLS.market.concurrency / 2;
/** How long a batch waits if the end of the wait is unknown. */
const UNKNOWN_WAIT_MS = 600_000;

test.beforeAll(({ souk }) => learnTokens(souk));

const oneCallOf = (asins: readonly string[]) => ({
  operation: 'market.product',
  params: { domain: 1 },
  split: { asins },
});

/** The end of the first month of a subscription that started at this time. */
function monthEnd(startedAt: number): Date {
  const end = new Date(startedAt);
  end.setUTCMonth(end.getUTCMonth() + 1);
  return end;
}
const dayEnd = (now: number) => new Date((Math.floor(now / DAY_MS) + 1) * DAY_MS);

test.for([
  {
    name: 'monthly limit',
    limit: 'monthlyLimit',
    reason: 'QUOTA_MONTHLY_EXCEEDED',
    endOf: (now: number) => monthEnd(now - 2 * DAY_MS),
  },
  { name: 'daily limit', limit: 'dailyLimit', reason: 'QUOTA_DAILY_EXCEEDED', endOf: dayEnd },
])(
  'a batch above the $name waits for the next window and then ends',
  async ({ limit, reason, endOf }, { souk, upstream: _ }) => {
    const { accountId, key } = await souk.account({ plan: { [limit]: 5 } });
    const client = souk.clientOf(key);
    // The month ends before the latest deadline of a batch.
    await souk.database.query(
      "update subscriptions set starts_at = starts_at - interval '1 day' where account_id = $1",
      [accountId],
    );
    const until = endOf(souk.clock.now());
    const deadline = new Date(souk.clock.now() + 30 * DAY_MS).toISOString();
    const asins = asinsFrom(limit === 'dailyLimit' ? 'B0DAY' : 'B0MONTH', 8);
    const batch = await startBatch(client, { ...callsOf(asins), deadline });
    const waiting = await batchOnce(souk, client, batch, isWaiting);
    expect(waiting).toMatchObject({
      counts: { done: 5, failed: 0, pending: 3 },
      units: { charged: 5, reserved: 0 },
      waiting: { reason, until: until.toISOString(), message: expect.stringMatching(/has used all units/) },
    });
    souk.clock.advance(until.getTime() - souk.clock.now() - 2_000);
    // Now and then it is tried whether the account has units.
    const before = await batchOnce(souk, client, batch, isWaiting, 0);
    expect(before).toMatchObject({ counts: { done: 5 }, waiting: { reason, until: until.toISOString() } });
    const after = await batchOnce(souk, client, batch, isFinished);
    expect(after).toMatchObject({ state: 'done', waiting: null, counts: { done: 8 }, units: { charged: 8 } });
  },
);

test('a call that costs more units than are left is split, and uses all of them', async ({
  souk,
  upstream: _,
}) => {
  const { accountId, key } = await souk.account({ plan: { dailyLimit: 130 } });
  const client = souk.clientOf(key);
  const asins = asinsFrom('B0SPLIT', 200);
  const batch = await startBatch(client, oneCallOf(asins));
  const waiting = await batchOnce(souk, client, batch, isWaiting);
  expect(waiting).toMatchObject({ counts: { done: 130, pending: 70 }, units: { charged: 130, quoted: 200 } });
  await expectBalancesOfLedger(souk, accountId);
  souk.clock.advance(dayEnd(souk.clock.now()).getTime() - souk.clock.now());
  expect(await batchOnce(souk, client, batch, isFinished)).toMatchObject({
    state: 'done',
    units: { charged: 200 },
  });
  const lines = await resultsOf(client, batch);
  expect(lines.map(({ data }) => data.products[0].asin)).toEqual(asins);
  await expectBalancesOfLedger(souk, accountId);
});

test('a call that cannot be split waits even if some units are left', async ({ souk, upstream }) => {
  upstream.on('search', () => ({ json: { products: [] } }));
  const client = await souk.client({ plan: { dailyLimit: 7 } });
  const items = ['kettle', 'lamp'].map((term) => ({ domain: 1, term }));
  const batch = await startBatch(client, { operation: 'market.productsearch', items });
  expect(await batchOnce(souk, client, batch, isWaiting)).toMatchObject({
    counts: { done: 1, pending: 1 },
    waiting: { reason: 'QUOTA_INSUFFICIENT_UNITS' },
  });
});

test('batches leave a fifth of the calls a minute to other requests', async ({ souk, upstream: _ }) => {
  const { clock } = souk;
  const client = await souk.client({ plan: { minuteLimit: 10 } });
  clock.advance(60_000 - (clock.now() % 60_000));
  const until = new Date(clock.now() + 60_000).toISOString();
  const batch = await startBatch(client, callsOf(asinsFrom('B0MINUTE', 20)));
  const other = await startBatch(client, callsOf(asinsFrom('B0MINOTHR', 4)));
  const waiting = await batchOnce(souk, client, batch, isWaiting, 200);
  expect(waiting.waiting).toMatchObject({ reason: 'MINUTE_RESERVED', until });
  const used = async () => (await client.get('/api/quota')).json.data.general.minute.used;
  expect(await used()).toBe(8);
  for (const asin of asinsFrom('B0INTER', 2))
    expect((await client.get(`/api/market/product?domain=1&asins=${asin}`)).status).toBe(200);
  // The clock moves within the minute, and no further call of the minute is used.
  for (let i = 0; i < 5; i += 1) {
    await clock.until('batch step');
    clock.advance(1_000);
    expect(await used()).toBe(10);
  }
  for (const one of [batch, other])
    expect(await batchOnce(souk, client, one, isFinished, 5_000)).toMatchObject({ counts: { failed: 0 } });
  expect(await unitsUsed(client)).toBe(26);
});

test('a batch waits while its account has no units, until it gets some', async ({ souk, upstream: _ }) => {
  const { accountId, key } = await souk.account({ plan: null });
  const client = souk.clientOf(key);
  const batch = await startBatch(client, callsOf(asinsFrom('B0NOPLAN', 2)));
  const waiting = await batchOnce(souk, client, batch, isWaiting);
  expect(waiting.waiting).toMatchObject({ reason: 'QUOTA_NO_SUBSCRIPTION' });
  const now = souk.clock.now();
  const validity = { validFrom: new Date(now), validUntil: new Date(now + 30 * DAY_MS) };
  const pack = { accountId, wallet: 'general', units: 1, rateLimitPerMinute: 60, ...validity } as const;
  await grantPack(souk.database, pack, now);
  const hasOneResult = (view: typeof batch) => isWaiting(view) && view.counts.done === 1;
  souk.clock.advance(UNKNOWN_WAIT_MS);
  const partly = await batchOnce(souk, client, batch, hasOneResult);
  expect(partly.waiting?.reason).toMatch(/^QUOTA_/);
});

test('a batch that waits for the next month continues after a purchase', async ({ souk, upstream: _ }) => {
  const { accountId, key } = await souk.account({ plan: { monthlyLimit: 1 } });
  const client = souk.clientOf(key);
  const batch = await startBatch(client, callsOf(asinsFrom('B0BUYS', 3)));
  const waiting = await batchOnce(souk, client, batch, isWaiting);
  expect(waiting.waiting).toMatchObject({ reason: 'QUOTA_MONTHLY_EXCEEDED' });
  const now = souk.clock.now();
  expect(Date.parse(waiting.waiting?.until ?? '')).toBeGreaterThan(now + DAY_MS);
  const validity = { validFrom: new Date(now), validUntil: new Date(now + 30 * DAY_MS) };
  const pack = { accountId, wallet: 'general', units: 9, rateLimitPerMinute: 60, ...validity } as const;
  await grantPack(souk.database, pack, now);
  souk.clock.advance(UNKNOWN_WAIT_MS);
  expect(await batchOnce(souk, client, batch, isFinished)).toMatchObject({
    state: 'done',
    waiting: null,
    counts: { done: 3 },
    units: { charged: 3 },
  });
});

test('a batch of a disabled account waits, and continues after the account is enabled', async ({
  souk,
  account: { accountId },
  client,
  upstream,
}) => {
  const open = holdProducts(upstream);
  const batch = await startBatch(client, callsOf(asinsFrom('B0DISAB', SHARE + 4)));
  // A call that is taken may not be admitted yet; one that upstream receives is.
  await upstream.received(SHARE, 'product');
  const setState = (state: string) =>
    souk.database.query('update accounts set state = $2 where id = $1', [accountId, state]);
  await setState('disabled');
  open();
  const waitingOf = async () => {
    souk.clock.advance(1_000);
    const { rows } = await souk.database.query(
      'select waiting_reason, done_items from batches where account_id = $1',
      [accountId],
    );
    return rows[0];
  };
  await expect.poll(waitingOf).toEqual({ waiting_reason: 'ACCOUNT_UNAVAILABLE', done_items: SHARE });
  await setState('active');
  souk.clock.advance(UNKNOWN_WAIT_MS);
  expect(await batchOnce(souk, client, batch, isFinished)).toMatchObject({ counts: { done: SHARE + 4 } });
});

test('an off-peak batch waits for its window and runs within it', async ({ souk, client, upstream }) => {
  const { clock } = souk;
  // At midnight UTC the window is closed.
  clock.advance(DAY_MS - (clock.now() % DAY_MS));
  const batch = await startBatch(client, { ...callsOf(asinsFrom('B0NIGHT', 3)), window: 'off_peak' });
  const offPeak = { start: '19:00', end: '07:00', timezone: 'Asia/Shanghai' };
  const { isOpen, opensAt } = await offPeakOpening(souk.database, offPeak, clock.now());
  expect(isOpen).toBe(false);
  const waiting = await batchOnce(souk, client, batch, isWaiting);
  expect(waiting.waiting).toEqual({
    reason: 'OFF_PEAK_WINDOW',
    message: 'The off-peak window is closed. The batch continues when it opens.',
    until: new Date(opensAt).toISOString(),
  });
  clock.advance(opensAt - clock.now() - 5_000);
  await clock.until('batch step');
  expect(await batchNow(client, batch)).toMatchObject({ state: 'waiting' });
  // A batch of an earlier test may continue at midnight, with another operation.
  expect(upstream.callsTo('product')).toEqual([]);
  await batchOnce(souk, client, batch, isFinished);
  expect(clock.now()).toBeGreaterThanOrEqual(opensAt);
});

test('batches occupy at most half of a pool, and reserve only the units of these calls', async ({
  souk,
  account: { accountId },
  client,
  upstream,
}) => {
  const open = holdProducts(upstream);
  const batch = await startBatch(client, callsOf(asinsFrom('B0HALF', 3 * SHARE)));
  await upstream.received(SHARE, 'product');
  for (let i = 0; i < 5; i += 1) {
    await souk.clock.until('batch step');
    souk.clock.advance(1_000);
    const now = await batchNow(client, batch);
    expect(now).toMatchObject({ counts: { running: SHARE }, units: { reserved: SHARE, charged: 0 } });
    expect(await unitsUsed(client)).toBe(SHARE);
  }
  expect(upstream.callsTo('product')).toHaveLength(SHARE);
  open();
  await batchOnce(souk, client, batch, isFinished);
  expect(await unitsUsed(client)).toBe(3 * SHARE);
  await expectBalancesOfLedger(souk, accountId);
});

test('requests are answered while a batch has its share of the pool', async ({ souk, client, upstream }) => {
  const open = holdProducts(upstream);
  const batch = await startBatch(client, callsOf(asinsFrom('B0BEHIND', 3 * SHARE)));
  await upstream.received(SHARE, 'product');
  upstream.on('product', knowsEveryProduct);
  const others = [client, await souk.client()];
  for (const [i, other] of others.entries())
    expect((await other.get(`/api/market/product?domain=1&asins=B0AHEAD00${i}`)).status).toBe(200);
  expect(await batchNow(client, batch)).toMatchObject({ counts: { done: 0 } });
  open();
  await batchOnce(souk, client, batch, isFinished);
});

test('a small batch of another account runs before the rest of a large batch', async ({ souk, upstream }) => {
  const releases: (() => void)[] = [];
  upstream.on('product', async (...call) => {
    await new Promise<void>((resolve) => releases.push(resolve));
    return knowsEveryProduct(...call);
  });
  const [many, few] = [await souk.client(), await souk.client()];
  const large = await startBatch(many, callsOf(asinsFrom('B0LARGE', 2 * SHARE)));
  await upstream.received(SHARE, 'product');
  const small = await startBatch(few, callsOf(asinsFrom('B0SMALL', 4)));
  // As each call ends, a call of the account with the fewest calls in progress is submitted.
  for (let ended = 0; ended < 4; ended += 1) {
    releases[ended]?.();
    await upstream.received(SHARE + ended + 1, 'product');
  }
  const later = upstream.callsTo('product').slice(SHARE);
  expect(later.map(({ params }) => params.asin)).toEqual(asinsFrom('B0SMALL', 4));
  upstream.on('product', knowsEveryProduct);
  for (const release of releases) release();
  await batchOnce(souk, few, small, isFinished, 100);
  await batchOnce(souk, many, large, isFinished, 100);
});

test('a small batch of an account finishes before its large batch', async ({ souk, client, upstream }) => {
  const open = holdProducts(upstream);
  const first = await startBatch(client, callsOf(asinsFrom('B0TURNA', 4 * SHARE)));
  await upstream.received(SHARE, 'product');
  const second = await startBatch(client, callsOf(asinsFrom('B0TURNB', 4)));
  open();
  await batchOnce(souk, client, second, isFinished, 10);
  expect(await batchNow(client, first)).toMatchObject({ finishedAt: null });
  await batchOnce(souk, client, first, isFinished);
});

test('cached answers are collected without a worker of their pool', async ({
  souk,
  account: { accountId },
  client,
  upstream,
}) => {
  const asins = asinsFrom('B0CACHED', 100);
  await (await souk.client()).get(`/api/market/product?domain=1&asins=${asins.join(',')}`);
  const before = upstream.calls.length;
  const batch = await startBatch(client, oneCallOf(asins));
  expect(await batchOnce(souk, client, batch, isFinished)).toMatchObject({ units: { charged: 100 } });
  expect(upstream.calls).toHaveLength(before);
  const [line] = await resultsOf(client, batch);
  expect(line?.data.fromCache).toBe(true);
  await expectBalancesOfLedger(souk, accountId);
});

test('a batch collects a joined call that ends before its worker is registered for the end', async ({
  souk,
  client,
  upstream,
}) => {
  const { database } = souk;
  await database.query(`
    create table released (at timestamptz);
    create function wait_for_release() returns trigger language plpgsql as $$
      begin while not exists (select from released) loop perform pg_sleep(0.01); end loop; return new; end $$;
    create trigger wait_for_release before update on batch_calls for each row
      when (new.joined and not old.joined) execute function wait_for_release()`);
  onTestFinished(() => database.query('drop trigger wait_for_release on batch_calls').then(() => undefined));
  const asins = asinsFrom('B0RACE', 2);
  const open = holdProducts(upstream);
  const request = client.get(`/api/market/product?domain=1&asins=${asins.join(',')}`);
  await upstream.received(1);
  const joined = souk.events.next('call.joined', { operation: 'market.product' });
  const batch = await startBatch(client, oneCallOf(asins));
  await joined;
  open();
  expect((await request).status).toBe(200);
  await database.query('insert into released values (now())');
  // Nothing moves the clock, so that the worker does not look again by itself.
  expect(await finished(client, batch)).toMatchObject({ counts: { done: 2 }, units: { charged: 0 } });
});

test('a batch that joins a call of its account is not charged for it', async ({ souk, client, upstream }) => {
  const asins = asinsFrom('B0JOIN', 5);
  const open = holdProducts(upstream);
  const request = client.get(`/api/market/product?domain=1&asins=${asins.join(',')}`);
  await upstream.received(1);
  const batch = await startBatch(client, oneCallOf(asins));
  await souk.events.until('call.joined', { operation: 'market.product' });
  await batchOnce(
    souk,
    client,
    batch,
    ({ counts, units }) => counts.running === 5 && units.reserved === 0,
    100,
  );
  open();
  expect((await request).headers['x-units-consumed']).toBe('5');
  expect(await batchOnce(souk, client, batch, isFinished)).toMatchObject({
    counts: { done: 5 },
    units: { quoted: 5, charged: 0 },
  });
  expect(await unitsUsed(client)).toBe(5);
  expect(await resultsOf(client, batch)).toHaveLength(5);
});
