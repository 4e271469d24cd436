import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Billing, openBilling, refusalOf, type SubscriptionGrant } from '../support/billing.ts';

const opened: Billing[] = [];
let billing: Billing;
beforeEach(async () => {
  billing = await openBilling({ start: Date.parse('2026-03-10T10:20:30.000Z') });
  opened.push(billing);
});
afterAll(async () => {
  for (const { close } of opened) await close();
});

const limitedTo = (grant: SubscriptionGrant) => billing.account({ subscriptions: [grant] });

test.each([
  ['minute', { minuteLimit: 1 }, '2026-03-10T10:21:00.000Z', 'QUOTA_MINUTE_EXCEEDED'],
  ['day', { dailyLimit: 1 }, '2026-03-11T00:00:00.000Z', 'QUOTA_DAILY_EXCEEDED'],
  [
    'month',
    { monthlyLimit: 1, startsAt: new Date('2026-01-31T15:00Z') },
    '2026-03-31T15:00:00.000Z',
    'QUOTA_MONTHLY_EXCEEDED',
  ],
])('the %s resets at its boundary and not a millisecond earlier', async (_, grant, boundary, kind) => {
  const account = await limitedTo(grant);
  await billing.admit(account, 1);
  billing.clock.advance(Date.parse(boundary) - billing.clock.now() - 1);
  expect(await refusalOf(billing.admit(account, 1))).toMatchObject({ kind, metadata: { resetAt: boundary } });
  billing.clock.advance(1);
  expect(await billing.admit(account, 1)).toMatchObject({ kind: 'started' });
  expect(await refusalOf(billing.admit(account, 1))).toMatchObject({ kind });
});

test('a released call returns its units and keeps its place in the minute', async () => {
  const account = await limitedTo({ minuteLimit: 2, dailyLimit: 9 });
  const { callId } = await billing.admit(account, 5);
  await billing.release(account, callId);
  expect(await billing.admit(account, 5)).toMatchObject({ rate: { limit: 2, remaining: 0 } });
  expect(await refusalOf(billing.admit(account, 1))).toMatchObject({ kind: 'QUOTA_MINUTE_EXCEEDED' });
});

test('returns the state of the minute with every admitted call', async () => {
  const account = await limitedTo({ minuteLimit: 10 });
  const resetAt = Date.parse('2026-03-10T10:21:00.000Z');
  expect(await billing.admit(account, 1)).toMatchObject({ rate: { limit: 10, remaining: 9, resetAt } });
  const both = await Promise.all([billing.admit(account, 1), billing.admit(account, 1)]);
  expect(new Set(both.map((call) => 'rate' in call && call.rate?.remaining))).toEqual(new Set([7, 8]));
});

test('a joined call does not count in the minute', async () => {
  const account = await limitedTo({ minuteLimit: 10 });
  const chargeId = 'cd'.repeat(16);
  await billing.admit(account, 1, { chargeId });
  const [joined, started] = await Promise.all([
    billing.admit(account, 1, { chargeId }),
    billing.admit(account, 1, { chargeId: 'ff'.repeat(16) }),
  ]);
  expect(joined).toMatchObject({ kind: 'joined' });
  expect(started).toMatchObject({ kind: 'started', rate: { remaining: 8 } });
});

test('a gateway with a slow clock cannot reopen a minute, day or month', async () => {
  const startsAt = new Date('2026-02-11');
  const account = await limitedTo({ minuteLimit: 1, dailyLimit: 5, monthlyLimit: 5, startsAt });
  const midnight = Date.parse('2026-03-11T00:00:00.000Z');
  billing.clock.advance(midnight - billing.clock.now());
  await billing.admit(account, 5);
  const behind = billing.anotherGateway(() => midnight - 5_000);
  expect(await refusalOf(behind.admit(billing.request(account, 1)))).toMatchObject({
    kind: 'QUOTA_MONTHLY_EXCEEDED',
    metadata: { resetAt: '2026-04-11T00:00:00.000Z' },
  });
});

test.each([
  [
    'off-peak subscription, off-peak packs, general subscription, general packs inside the window',
    '12:00',
    [4, 4, 4, 4],
  ],
  ['only the general subscription and general packs outside the window', '10:30', [0, 0, 4, 4]],
])('draws on %s', async (_, time, drawn) => {
  const packs = [
    { units: 4, wallet: 'off_peak' as const },
    { units: 4, wallet: 'general' as const },
  ];
  const subscriptions = [
    { wallet: 'general' as const, dailyLimit: 4 },
    { wallet: 'off_peak' as const, dailyLimit: 4 },
  ];
  const account = await billing.account({ subscriptions, packs });
  billing.clock.advance(Date.parse(`2026-03-10T${time}Z`) - billing.clock.now());
  const total = drawn.reduce((sum, units) => sum + units, 0);
  await billing.admit(account, total);
  const { rows } = await billing.database.query(
    `select coalesce(s.wallet, k.wallet) as wallet, l.source, l.units from ledger l
     left join subscriptions s on l.source = 'subscription' and s.id = l.source_id
     left join packs k on l.source = 'pack' and k.id = l.source_id
     where l.account_id = $1 and l.kind <> 'grant' order by l.id`,
    [account.accountId],
  );
  const inOrder = ['off_peak subscription', 'off_peak pack', 'general subscription', 'general pack'];
  expect(rows.map(({ wallet, source, units }) => `${wallet} ${source} ${units}`)).toEqual(
    inOrder.flatMap((source, i) => (drawn[i] ? [`${source} ${drawn[i]}`] : [])),
  );
});
