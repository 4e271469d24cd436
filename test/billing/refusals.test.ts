import { beforeEach, expect, test } from 'vitest';
import { billingOfFile, refusalOf } from '../support/billing.ts';

const billing = await billingOfFile({ start: Date.parse('2026-03-10T10:00:30Z') });
beforeEach(() => {
  // Moves the clock to 10:00:30 of the next day, which is outside the off-peak window of 11:00 to 23:00 UTC.
  billing.clock.advance(86_400_000);
});

const at = (offsetMs: number) => new Date(billing.clock.now() + offsetMs).toISOString();
const TO_MIDNIGHT_MS = 13 * 3_600_000 + 59 * 60_000 + 30_000;

test.each([
  ['is over', { startsAt: new Date(0), endsAt: new Date(1) }],
  ['has not begun', { startsAt: new Date('2098-01-01'), endsAt: new Date('2099-01-01') }],
])('refuses a call of an account whose subscription %s', async (_, period) => {
  const account = await billing.account({ subscriptions: [period] });
  expect(await refusalOf(billing.admit(account, 1))).toMatchObject({ kind: 'QUOTA_NO_SUBSCRIPTION' });
});

test('a refusal of a pack with a window of its own states when that window opens', async () => {
  const window = { start: '10:15', end: '10:45', timezone: 'UTC' };
  const account = await billing.account({ packs: [{ wallet: 'off_peak', units: 9, window }] });
  expect(await refusalOf(billing.admit(account, 1))).toMatchObject({
    kind: 'QUOTA_OFF_PEAK_ONLY',
    metadata: { resetAt: at(14.5 * 60_000) },
  });
  billing.clock.advance(14.5 * 60_000);
  expect(await billing.admit(account, 1)).toMatchObject({ kind: 'started' });
  billing.clock.advance(86_400_000 - 14.5 * 60_000);
});

test('a refusal of a call that costs more than all sources hold states the remaining units', async () => {
  const account = await billing.account({ subscriptions: [{ dailyLimit: 10 }], packs: [{ units: 4 }] });
  await billing.admit(account, 7);
  expect(await refusalOf(billing.admit(account, 8))).toMatchObject({
    kind: 'QUOTA_INSUFFICIENT_UNITS',
    metadata: { wallet: 'general', needed: 8, remaining: 7, resetAt: at(TO_MIDNIGHT_MS) },
  });
  expect(await billing.admit(account, 7)).toMatchObject({ kind: 'started' });
});

test('a refusal of a call that exceeds the rest of the month states the end of the month', async () => {
  const startsAt = new Date(billing.clock.now());
  const account = await billing.account({ subscriptions: [{ dailyLimit: 50, monthlyLimit: 60, startsAt }] });
  await billing.admit(account, 45);
  billing.clock.advance(86_400_000);
  const refusal = await refusalOf(billing.admit(account, 20));
  expect(refusal).toMatchObject({ kind: 'QUOTA_INSUFFICIENT_UNITS', metadata: { remaining: 15 } });
  const daysToWait = (refusal.retryAfterSeconds ?? 0) / 86_400;
  expect(daysToWait).toBeGreaterThan(20);
});

test('a refused call leaves no call, no ledger line and no changed meter', async () => {
  const account = await billing.account({
    subscriptions: [{ minuteLimit: 1, dailyLimit: 5 }],
    packs: [{ units: 2 }],
  });
  await refusalOf(billing.admit(account, 50));
  const { rows } = await billing.database.query(
    `select (select count(*) from calls c where c.account_id = $1)::integer as calls,
       (select count(*) from ledger l where l.account_id = $1 and l.kind <> 'grant')::integer as lines,
       (select sum(minute_used + day_used + month_used) from subscriptions s where s.account_id = $1)::integer as used,
       (select sum(remaining_units) from packs k where k.account_id = $1)::integer as left_in_packs,
       (select pack_minute_used from accounts a where a.id = $1) as pack_minute`,
    [account.accountId],
  );
  expect(rows).toEqual([{ calls: 0, lines: 0, used: 0, left_in_packs: 2, pack_minute: 0 }]);
});
