import { beforeEach, expect, test } from 'vitest';
import { quotaSnapshot } from '../../src/billing/quota.ts';
import { type BilledAccount, billingOfFile, OFF_PEAK } from '../support/billing.ts';

const billing = await billingOfFile({ start: Date.parse('2026-03-10T10:20:30.000Z') });
beforeEach(() => {
  billing.clock.advance(86_400_000);
});

const snapshotOf = ({ keyHash, accountId }: BilledAccount) =>
  quotaSnapshot({ ...billing, offPeak: OFF_PEAK }, { keyHash, accountId }, billing.clock.now());

test('returns an empty snapshot for an account without grants', async () => {
  expect(await snapshotOf(await billing.account())).toEqual({
    serverTime: new Date(billing.clock.now()).toISOString(),
    offPeakWindow: OFF_PEAK,
    offPeakActive: false,
    activeBilling: null,
    activeBillingTrack: null,
    nextCallRejectReason: 'QUOTA_NO_SUBSCRIPTION',
    nextCallRejectMessage: 'The account has no plan and no pack.',
    keyWarning: null,
    general: { subscribed: false },
    off_peak: { subscribed: false },
    packs: {
      subscribed: false,
      totalRemainingUnits: 0,
      rateLimitPerMinute: 0,
      earliestValidUntil: null,
      items: [],
    },
  });
});

test('returns the current state of every meter of a general subscription', async () => {
  const startsAt = new Date('2026-03-05T08:00:00Z');
  const endsAt = new Date('2027-03-05T08:00:00Z');
  const subscription = { minuteLimit: 5, dailyLimit: 40, quantity: 2, startsAt, endsAt };
  const account = await billing.account({ subscriptions: [subscription] });
  await billing.admit(account, 20);
  billing.clock.advance(86_400_000);
  const { callId } = await billing.admit(account, 7);
  await billing.admit(account, 3, { answer: 'own' });
  await billing.settle(account, callId, 4);
  const snapshot = await snapshotOf(account);
  expect(snapshot).toMatchObject({
    activeBilling: 'general',
    activeBillingTrack: 'legacy',
    nextCallRejectReason: null,
    nextCallRejectMessage: null,
    off_peak: { subscribed: false },
  });
  const day = (offset: number) =>
    new Date(billing.clock.now() + offset * 86_400_000).toISOString().slice(0, 10);
  expect(snapshot.general).toEqual({
    subscribed: true,
    plan: { id: expect.any(Number), name: 'Test' },
    subscriptionEnd: endsAt.toISOString(),
    quantity: 2,
    minute: { limit: 10, used: 2, remaining: 8 },
    daily: { limit: 80, used: 7, remaining: 73 },
    monthly: { limit: null, used: 27, remaining: null },
    resetAt: {
      minute: `${day(0)}T10:21:00.000Z`,
      daily: `${day(1)}T00:00:00.000Z`,
      monthly: '2026-04-05T08:00:00.000Z',
    },
  });
});

test('lists packs by their earliest end, and states which are usable now', async () => {
  const later = new Date(billing.clock.now() + 30 * 86_400_000);
  const sooner = new Date(billing.clock.now() + 10 * 86_400_000);
  const window = { start: '09:00', end: '12:30', timezone: 'UTC' };
  const account = await billing.account({
    packs: [
      { units: 50, rate: 20, validUntil: later },
      { units: 8, rate: 60, validUntil: sooner, wallet: 'off_peak', window },
      { units: 8, rate: 90, validUntil: new Date(billing.clock.now()) },
    ],
  });
  await billing.admit(account, 6);
  const { packs, activeBilling, activeBillingTrack } = await snapshotOf(account);
  expect({ activeBilling, activeBillingTrack }).toEqual({
    activeBilling: 'off_peak',
    activeBillingTrack: 'pack',
  });
  expect(packs).toEqual({
    subscribed: true,
    totalRemainingUnits: 52,
    rateLimitPerMinute: 60,
    earliestValidUntil: sooner.toISOString(),
    items: [
      {
        id: expect.any(Number),
        planType: 'off_peak',
        totalUnits: 8,
        remainingUnits: 2,
        remainingRatio: 0.25,
        rateLimitPerMinute: 60,
        validUntil: sooner.toISOString(),
        window,
        inWindow: true,
      },
      {
        id: expect.any(Number),
        planType: 'general',
        totalUnits: 50,
        remainingUnits: 50,
        remainingRatio: 1,
        rateLimitPerMinute: 20,
        validUntil: later.toISOString(),
      },
    ],
  });
});
