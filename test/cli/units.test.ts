import { expect } from 'vitest';
import { monthsAfter } from '../../src/platform/calendar.ts';
import { databaseClock } from '../../src/platform/db/pool.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { knowsEveryProduct, newAsin } from '../support/answers.ts';
import type { Souk } from '../support/souk.ts';
import { type SoukCommand, soukCommand } from '../support/souk-command.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', { clock: databaseClock() });
let souk: Souk;
let command: SoukCommand;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  souk.upstream.on('product', knowsEveryProduct);
  command = soukCommand({ DATABASE_URL: souk.databaseUrl });
});

const quotaOf = async (key: string) => (await souk.clientOf(key).get('/api/quota')).json.data;

test('plan list creates the standard plans, keeps changes to them, and shows their prices', async () => {
  const codes = ['basic', 'enterprise', 'pro', 'trial'];
  expect((await command.json('plan list')).map((plan: { code: string }) => plan.code)).toEqual(codes);
  await souk.database.query(
    "update plans set daily_limit = 777, price_cents = null, is_offered = false where code = 'trial'",
  );
  const plans: { code: string }[] = await command.json('plan list');
  expect(plans.map(({ code }) => code)).toEqual(codes);
  expect(plans.find(({ code }) => code === 'trial')).toMatchObject({ dailyLimit: 777, priceCents: null });
  const text = await command.text('plan list');
  expect(text).toMatch(/│ enterprise │ Enterprise │ +1,200 │ +- │ +5,000,000 │ \$999\.00 +│/);
  expect(text).toMatch(/│ trial .*│ not for sale +│/);
  expect(text).toMatch(/│ +777 │/);
});

test('coupon and discount create, list and end reductions, and refuse what is not valid', async () => {
  const { accountId } = await souk.account({ plan: null });
  const made = await command.json(
    'coupon create --code spring-1 --percent 20 --until 2028-01-01 --offer plan:basic --uses 5 --once',
  );
  expect(made).toMatchObject({
    code: 'SPRING-1',
    percent: 20,
    offerKind: 'plan',
    offerCode: 'basic',
    maxUses: 5,
    oncePerAccount: true,
    uses: 0,
  });
  await command.json(`discount create --account ${accountId} --amount 5.50 --until 2028-01-01`);
  expect(await command.json('discount list')).toMatchObject([
    { code: null, amountCents: 550, currency: 'usd', accountId, offerKind: null },
  ]);
  expect(await command.text('coupon list')).toMatch(/│ SPRING-1 │ 20 % off +│ plan:basic │/);
  const ended = await command.json('coupon end spring-1');
  expect(Date.parse(ended.endsAt)).toBeLessThan(Date.parse(made.endsAt));
  expect((await command.run('coupon end spring-1')).stderr).toContain('does not exist or has ended');
  expect(
    (await command.run('coupon create --code spring-1 --percent 5 --until 2028-01-01')).stderr,
  ).toContain('--code is already the code of another coupon.');
  expect((await command.run('discount create --percent 0 --until 2028-01-01')).stderr).toContain(
    '--percent must be a whole number from 1 to 100',
  );
});

test('grant subscription grants a subscription that the quota shows immediately', async () => {
  const { accountId, key } = await souk.account({ plan: null });
  const words = `grant subscription --account ${accountId} --plan pro --quantity 3 --months 2`;
  const granted = await command.json(words);
  expect(granted).toMatchObject({ accountId, plan: 'pro', quantity: 3, wallet: 'general' });
  expect(granted.endsAt).toBe(monthsAfter(new Date(granted.startsAt), 2).toISOString());
  const { general, off_peak } = await quotaOf(key);
  expect(general).toMatchObject({ subscribed: true, quantity: 3, subscriptionEnd: granted.endsAt });
  expect(general.minute.limit).toBe(900);
  expect(off_peak).toEqual({ subscribed: false });

  expect(
    await command.text(`grant subscription --account ${accountId} --plan basic --wallet off_peak`),
  ).toMatch(/│ basic │ +1 │ off_peak │/);
  expect((await quotaOf(key)).off_peak).toMatchObject({ subscribed: true, quantity: 1 });
});

test('grant subscription refuses an overlapping subscription, and accepts one that starts at the end of another', async () => {
  const { accountId } = await souk.account({ plan: null });
  const first = await command.json(`grant subscription --account ${accountId} --plan basic`);
  const { code, stdout, stderr } = await command.run(`grant subscription --account ${accountId} --plan pro`);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(`to ${first.endsAt} (number ${first.id})`);
  expect(stderr.trim().split('\n')).toHaveLength(1);

  const next = await command.json(
    `grant subscription --account ${accountId} --plan pro --starts ${first.endsAt}`,
  );
  expect(next.startsAt).toBe(first.endsAt);
  const { rows } = await souk.database.query(
    'select id from subscriptions where account_id = $1 order by id',
    [accountId],
  );
  expect(rows).toEqual([{ id: first.id }, { id: next.id }]);
});

test('grant pack grants a pack that the quota shows immediately', async () => {
  const { accountId, key } = await souk.account({ plan: null });
  const given = await command.json(`grant pack --account ${accountId} --units 500 --rate 7 --valid-days 3`);
  expect(Date.parse(given.validUntil) - Date.parse(given.validFrom)).toBe(3 * DAY_MS);
  expect((await quotaOf(key)).packs).toMatchObject({
    subscribed: true,
    totalRemainingUnits: 500,
    rateLimitPerMinute: 7,
    items: [{ id: given.id, planType: 'general', totalUnits: 500, validUntil: given.validUntil }],
  });
  expect(await command.text(`grant pack --account ${accountId} --units 20 --wallet off_peak`)).toMatch(
    /│ +20 │ off_peak │ +- │ +60 │/,
  );
  expect((await quotaOf(key)).packs.items).toHaveLength(2);
});

test('grant pack --window grants an off-peak pack with hours of its own, which the quota shows', async () => {
  const { accountId, key } = await souk.account({ plan: null });
  const words = (wallet: string, window: string) => [
    ...`grant pack --account ${accountId} --units 20 --wallet ${wallet} --window`.split(' '),
    window,
  ];
  const text = await command.text(words('off_peak', '22:00-06:00 Europe/Berlin'));
  expect(text).toContain('22:00-06:00 Europe/Berlin');
  const window = { start: '22:00', end: '06:00', timezone: 'Europe/Berlin' };
  expect((await quotaOf(key)).packs.items).toEqual([
    expect.objectContaining({ planType: 'off_peak', window, inWindow: expect.any(Boolean) }),
  ]);
  for (const [wallet, refused] of [
    ['general', '22:00-06:00 Europe/Berlin'],
    ['off_peak', '22:00-06:00'],
    ['off_peak', '22:00-22:00 Europe/Berlin'],
    ['off_peak', '22:00-06:00 +02:00'],
    ['off_peak', '22:00-06:00 Europe/Nowhere'],
  ] as const) {
    const { code, stderr } = await command.run(words(wallet, refused));
    expect([code, stderr]).toEqual([1, expect.stringMatching(/--window (is for packs of|must be a window)/)]);
  }
});

/** An account with a pack of 100 that has made two product calls, of two units and of one. */
async function accountWithCalls(): Promise<number> {
  const { accountId, key } = await souk.account({ plan: null });
  await command.json(`grant pack --account ${accountId} --units 100`);
  const client = souk.clientOf(key);
  for (const asins of [`${newAsin()},${newAsin()}`, newAsin()]) {
    expect((await client.get(`/api/market/product?domain=1&asins=${asins}`)).status).toBe(200);
  }
  return accountId;
}

test('usage prints calls and units by operation and by day, and the remaining units', async () => {
  const account = await accountWithCalls();
  const usage = await command.json(`usage --account ${account}`);
  const total = { calls: 2, units: 3 };
  expect(usage).toMatchObject({
    accountId: account,
    ...total,
    byOperation: [{ operation: 'market.product', ...total }],
    packs: [{ remainingUnits: 97, totalUnits: 100, valid: true }],
  });
  expect(usage.byDay.reduce((sum: number, { units }: { units: number }) => sum + units, 0)).toBe(3);
  expect(Date.parse(usage.to) - Date.parse(usage.from)).toBe(30 * 86_400_000);

  const text = await command.text(`usage --account ${account} --days 2`);
  expect(text).toContain('Last 2 days: 2 calls, 3 units.');
  expect(text).toMatch(/│ market\.product │ +2 │ +3 │/);
  expect(text).toMatch(/│ general │ +97 │ +100 │/);
});

test('usage leaves out calls from before the requested days', async () => {
  const account = await accountWithCalls();
  await souk.database.query('update usage_days set day = day - 3 where account_id = $1', [account]);
  expect(await command.json(`usage --account ${account} --days 2`)).toMatchObject({
    calls: 0,
    units: 0,
    byDay: [],
  });
  expect(await command.json(`usage --account ${account} --days 5`)).toMatchObject({ calls: 2, units: 3 });
});

test('ledger prints lines that add up to the remaining units, newest first, in pages', async () => {
  const account = await accountWithCalls();
  const lines: { id: number; kind: string; change: number; operation: string | null }[] = await command.json(
    `ledger --account ${account}`,
  );
  expect(lines.reduce((sum, { change }) => sum + change, 0)).toBe(97);
  expect(lines.at(-1)).toMatchObject({ kind: 'grant', change: 100, operation: null });
  expect(lines[0]).toMatchObject({ operation: 'market.product' });
  const ids = lines.map(({ id }) => id);
  expect(ids).toEqual([...ids].sort((a, b) => b - a));

  const page = await command.json(`ledger --account ${account} --limit 2`);
  const rest = await command.json(`ledger --account ${account} --before ${page[1].id}`);
  expect([...page, ...rest]).toEqual(lines);
  expect(await command.text(`ledger --account ${account}`)).toMatch(
    /│ grant +│ general │ pack \d+ +│ +100 │ +100 │/,
  );
});

test('usage and ledger are empty for an account without grants', async () => {
  const { accountId } = await souk.account({ plan: null });
  expect(await command.text(`usage --account ${accountId}`)).toBe(
    'Last 30 days: 0 calls, 0 units.\n\nSubscriptions:\nNone.\n\nPacks:\nNone.\n',
  );
  expect(await command.text(`ledger --account ${accountId}`)).toBe('None.\n');
  expect(await command.json(`ledger --account ${accountId}`)).toEqual([]);
});
