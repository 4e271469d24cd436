import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AdmissionRequest, Admissions } from '../../src/billing/admission.ts';
import { SoukError } from '../../src/platform/errors.ts';
import { type Billing, openBilling } from '../support/billing.ts';

let billing: Billing;
let gateways: Admissions[];
beforeAll(async () => {
  billing = await openBilling();
  gateways = [billing.admissions, billing.anotherGateway(), billing.anotherGateway()];
});
afterAll(() => billing.close());

/** Admits calls concurrently over three gateways. @returns the number of admitted calls, and the refusals of the others. */
async function admitAll(requests: readonly AdmissionRequest[]) {
  const outcomes = await Promise.all(
    requests.map((request, i) =>
      (gateways[i % gateways.length] as Admissions).admit(request).then(
        ({ kind }) => kind,
        (error: unknown) => (error instanceof SoukError ? error.kind : String(error)),
      ),
    ),
  );
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

const times = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));

test.each([
  ['minute', { minuteLimit: 50 }, 50, 'QUOTA_MINUTE_EXCEEDED'],
  ['day', { dailyLimit: 150 }, 50, 'QUOTA_DAILY_EXCEEDED'],
  ['month', { monthlyLimit: 150 }, 50, 'QUOTA_MONTHLY_EXCEEDED'],
] as const)(
  'concurrent calls over several gateways never exceed the limit of the %s',
  async (_, limits, fit, reason) => {
    const account = await billing.account({ subscriptions: [limits] });
    expect(await admitAll(times(200, () => billing.request(account, 3)))).toEqual({
      started: fit,
      [reason]: 200 - fit,
    });
  },
);

test('concurrent calls never take more units from a pack than it has', async () => {
  const account = await billing.account({ packs: [{ units: 40 }, { units: 35 }] });
  expect(await admitAll(times(100, () => billing.request(account, 5)))).toEqual({
    started: 15,
    QUOTA_PACK_EXHAUSTED: 85,
  });
});

test('concurrent identical calls over several gateways are admitted once for each account', async () => {
  const accounts = await Promise.all(times(5, () => billing.account({ subscriptions: [{}] })));
  const chargeId = 'ab'.repeat(16);
  const requests = times(100, (i) =>
    billing.request(accounts[i % 5] as (typeof accounts)[0], 7, { chargeId }),
  );
  expect(await admitAll(requests)).toEqual({ started: 5, joined: 95 });
  const { rows } = await billing.database.query(
    'select account_id, month_used from subscriptions where account_id = any($1)',
    [accounts.map(({ accountId }) => accountId)],
  );
  expect(rows.map(({ month_used }) => month_used)).toEqual([7, 7, 7, 7, 7]);
});

test('no limit is exceeded while calls end and are admitted at the same time', async () => {
  const account = await billing.account({ subscriptions: [{ dailyLimit: 30 }] });
  let charged = 0;
  for (let round = 0; round < 5; round += 1) {
    const admitted = await Promise.allSettled(times(20, () => billing.admit(account, 3)));
    const started = admitted.flatMap((call) => (call.status === 'fulfilled' ? [call.value.callId] : []));
    expect(charged + started.length * 3).toBeLessThanOrEqual(30);
    // Every other call is charged a third and the rest nothing, while further calls are admitted.
    const [endings] = await Promise.all([
      Promise.all(
        started.map((id, i) => (i % 2 ? billing.settle(account, id, 1) : billing.release(account, id))),
      ),
      Promise.allSettled(times(10, () => billing.admit(account, 30))),
    ]);
    charged += endings.reduce((sum, ended) => sum + (ended?.unitsCharged ?? 0), 0);
    const { rows } = await billing.database.query(
      'select day_used from subscriptions where account_id = $1',
      [account.accountId],
    );
    expect(rows[0]?.day_used).toBe(charged);
  }
  expect(charged).toBeGreaterThan(0);
});
