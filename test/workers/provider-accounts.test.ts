import { describe, expect } from 'vitest';
import type { BatchView } from '../../src/batches/batch.ts';
import type { Clock } from '../../src/platform/clock.ts';
import { knowsEveryProduct } from '../support/answers.ts';
import { expectBalancesOfLedger } from '../support/balances.ts';
import { asinsFrom, batchNow, isFinished, resultsOf, startBatch } from '../support/batches.ts';
import type { Client } from '../support/client.ts';
import { staffOf } from '../support/customer.ts';
import type { Script } from '../support/scripted-upstream.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';

const MINUTE = 60_000;
const RATE = 100;
/** Background calls leave a tenth of an hour's refill in reserve. */
const RESERVE = 6 * RATE;
const NAMES = ['first', 'second', 'third'];
const keyOf = (name: string) => `key-of-the-${name}-account`;

test.override('soukOptions', {
  accounts: NAMES.map((name) => ({ name, key: keyOf(name) })),
  operator: { adminToken: 'only-for-the-operator' },
});

/** Advances the clock until a condition holds, fast only while jobs wait for tokens. @returns the batch. */
async function batchWhenSpent(
  { clock }: Souk,
  client: Client,
  batch: { batchId: string },
  holds: (batch: BatchView) => boolean,
): Promise<BatchView> {
  let now = await batchNow(client, batch);
  await expect
    .poll(
      async () => {
        if (holds(now)) return true;
        clock.advance(clock.countOf('token pause') > 0 ? 5_000 : 100);
        now = await batchNow(client, batch);
        return holds(now);
      },
      { timeout: 100_000, interval: 20 },
    )
    .toBe(true);
  return now;
}

/** The accounts as the provider sees them: refilled at full minutes, and charged by product. */
function meter(clock: Clock) {
  const startedAt = clock.now();
  let ticks = 0;
  let stamp = 0;
  const accounts = new Map(
    NAMES.map((name) => [
      keyOf(name),
      { name, left: RESERVE, works: true, spentByMinute: [0], refused: 0, limited: 0 },
    ]),
  );
  /** Products that were sold, in order. */
  const sold: string[] = [];

  function refill(): void {
    for (; clock.now() >= startedAt + (ticks + 1) * MINUTE; ticks += 1)
      for (const account of accounts.values()) {
        account.left += RATE;
        account.spentByMinute.push(0);
      }
  }

  const script: Script = (call, response) => {
    refill();
    const account = accounts.get(call.params.key ?? '');
    if (!account) return { status: 400, json: { refillRate: 0, error: { type: 'invalidParameter' } } };
    stamp += 1;
    const envelope = () => ({
      timestamp: stamp,
      tokensLeft: account.left,
      refillRate: RATE,
      refillIn: startedAt + (ticks + 1) * MINUTE - clock.now(),
    });
    if (!account.works) {
      account.refused += 1;
      return { status: 402, json: { ...envelope(), tokensConsumed: 0, error: { type: 'paymentRequired' } } };
    }
    const asins = call.params.asin?.split(',') ?? [];
    if (asins.length > 0 && account.left <= 0) {
      account.limited += 1;
      return { status: 429, json: { ...envelope(), tokensConsumed: 0 } };
    }
    account.left -= asins.length;
    account.spentByMinute[ticks] = (account.spentByMinute[ticks] ?? 0) + asins.length;
    sold.push(...asins);
    const answer = knowsEveryProduct(call, response) as { json: object };
    return { json: { ...answer.json, ...envelope(), tokensConsumed: asins.length } };
  };
  return {
    script,
    sold,
    account: (name: string) => accounts.get(keyOf(name)) as NonNullable<ReturnType<typeof accounts.get>>,
  };
}

test('a batch loses nothing and pays nothing twice if one of three accounts stops working, and uses the tokens of the others', async ({
  souk,
  account: { accountId },
  client,
  upstream,
}) => {
  const { script, sold, account } = meter(souk.clock);
  for (const path of ['product', 'token']) upstream.on(path, script);
  const asins = asinsFrom('B0', 1_200);
  const items = Array.from({ length: asins.length / 10 }, (_, i) => ({
    domain: 1,
    asins: asins.slice(10 * i, 10 * i + 10).join(','),
  }));
  await souk.workers[0]?.learnTokens();
  const batch = await startBatch(client, { operation: 'market.product', items });
  await batchWhenSpent(souk, client, batch, () => sold.length >= 300);
  account('second').works = false;
  const killedAt = account('first').spentByMinute.length;
  const ended = await batchWhenSpent(souk, client, batch, isFinished);

  expect(ended).toMatchObject({ state: 'done', counts: { failed: 0 }, units: { charged: asins.length } });
  expect(await unitsUsed(client)).toBe(asins.length);
  await expectBalancesOfLedger(souk, accountId);
  const lines = await resultsOf(client, batch);
  expect(lines.map(({ code, data }) => [code, data.products.length])).toEqual(items.map(() => ['0000', 10]));
  expect([...sold].sort()).toEqual(asins);

  // The batch needs no whole refill in its last minutes.
  const used = ['first', 'third'].flatMap((name) => account(name).spentByMinute.slice(killedAt, -2));
  expect(used.length).toBeGreaterThan(3);
  expect(used.reduce((sum, tokens) => sum + tokens, 0) / (used.length * RATE)).toBeGreaterThanOrEqual(0.95);
  for (const name of NAMES) expect(account(name)).toMatchObject({ limited: 0 });
  // All others were spared by the first refusals.
  expect(account('second').refused).toBeGreaterThan(0);
  expect(account('second').refused).toBeLessThan(40);

  const { text } = await client.raw('/metrics');
  expect(text).toContain('souk_upstream_account_available{provider_account="second"} 0');
  expect(text).toContain('souk_upstream_account_available{provider_account="third"} 1');

  account('second').works = true;
  souk.clock.advance(10 * MINUTE);
  const further = asinsFrom('B1', 500);
  const hasSold = async () => {
    souk.clock.advance(1_000);
    await client.get(`/api/market/product?domain=1&asins=${further.pop()}`);
    return account('second').spentByMinute.at(-1);
  };
  await expect.poll(hasSold, { timeout: 20_000 }).toBeGreaterThan(0);
});

test('a call of a refused account is answered by another, and an answer of one account serves all', async ({
  souk,
  client,
  upstream,
}) => {
  const { script, account } = meter(souk.clock);
  for (const path of ['product', 'token']) upstream.on(path, script);
  for (const name of ['first', 'second']) account(name).works = false;
  const paths = asinsFrom('B2', 4).map((asin) => `/api/market/product?domain=1&asins=${asin}`);
  for (const path of paths) expect((await client.get(path)).status).toBe(200);
  const requests = upstream.callsTo('product').length;
  const other = await souk.client();
  for (const path of paths) expect((await other.get(path)).json.data.fromCache).toBe(true);
  expect(upstream.callsTo('product')).toHaveLength(requests);
  const log = souk.logLines.join('');
  for (const name of NAMES) expect(log).not.toContain(keyOf(name));
});

describe('an account that the console adds', () => {
  test('is used within seconds, and no longer once it is drained and removed', async ({ openAnother }) => {
    const souk = await openAnother({
      operator: { adminToken: 'only-for-the-operator' },
      secretKeys: ['s'.repeat(32)],
      accounts: [],
    });
    const { script, account } = meter(souk.clock);
    for (const path of ['product', 'token']) souk.upstream.on(path, script);
    const { visitor } = await staffOf(souk);
    const client = await souk.client();
    const asins = asinsFrom('B3', 9);
    const ask = async () => (await client.get(`/api/market/product?domain=1&asins=${asins.pop()}`)).status;
    const page = () => visitor.get('/admin/provider-accounts');
    await page();
    expect(await ask()).toBe(503);

    const fields = { name: 'second', key: keyOf('second') };
    const { html } = await visitor.post('/admin/provider-accounts', fields);
    expect(html).not.toContain(keyOf('second'));
    // The worker reads the accounts, and asks for the tokens of the new one.
    souk.clock.advance(3_000);
    await souk.upstream.received(1, 'token');
    expect(await ask()).toBe(200);
    expect((await visitor.post('/admin/provider-accounts', { ...fields, name: 'again' })).text).toContain(
      'An account has this name or this key already',
    );

    const { rows } = await souk.database.query('select key from provider_accounts');
    expect(rows).toEqual([{ key: expect.stringMatching(/^sealed:/) }]);
    await souk.gateways[0]?.sampleBacklog();
    expect((await client.raw('/metrics')).text).toContain(
      `souk_upstream_tokens_left{provider_account="second"} ${account('second').left}`,
    );

    await visitor.post('/admin/provider-accounts/second/state', { state: 'draining' });
    souk.clock.advance(3_000);
    await expect.poll(ask).toBe(503);
    souk.clock.advance(5_000);
    await expect.poll(async () => (await page()).text).toMatch(/second this console drained 59\d/);
    expect((await page()).text).toMatch(/History .*429 .* [1-9]\d* /);
    await visitor.post('/admin/provider-accounts/second/remove', {});
    expect((await page()).text).toContain('No account is known yet');
  });

  test('cannot be removed while it is active, and not at all if its key is in KEEPA_API_KEY', async ({
    souk,
    upstream: _,
  }) => {
    const { visitor } = await staffOf(souk);
    // The worker names its accounts every minute.
    souk.clock.advance(MINUTE);
    await expect
      .poll(async () => (await visitor.get('/admin/provider-accounts')).text)
      .toContain('first KEEPA_API_KEY');
    const remove = (name: string) => visitor.post(`/admin/provider-accounts/${name}/remove`, {});
    expect((await remove('first')).status).toBe(404);
    await visitor.post('/admin/provider-accounts/first/state', { state: 'paused' });
    expect((await remove('first')).status).toBe(404);
    await visitor.post('/admin/provider-accounts', { name: 'fourth', key: 'key-of-a-fourth-account' });
    expect((await remove('fourth')).status).toBe(404);
    const { text } = await visitor.post('/admin/provider-accounts/first/state', { state: 'active' });
    expect(text).toMatch(/first KEEPA_API_KEY .*fourth this console/);
    await visitor.post('/admin/provider-accounts/fourth/state', { state: 'paused' });
    expect((await remove('fourth')).status).toBe(200);
  });
});
