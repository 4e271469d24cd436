import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BilledAccount, type Billing, openBilling } from '../support/billing.ts';
import { auditLedger } from '../support/soak/ledger-audit.ts';

let billing: Billing;
let account: BilledAccount;
beforeAll(async () => {
  billing = await openBilling();
  account = await billing.account({
    subscriptions: [{ minuteLimit: 10, dailyLimit: 20, monthlyLimit: 30 }],
    packs: [{ units: 50 }],
  });
  const settled = await billing.admit(account, 15);
  await billing.settle(account, settled.callId, 12);
  const released = await billing.admit(account, 5);
  await billing.release(account, released.callId);
  // The call costs more than the day has left, so it draws on the pack as well.
  const both = await billing.admit(account, 20);
  await billing.settle(account, both.callId, 20);
});
afterAll(() => billing.close());

async function promisesBroken(): Promise<string[]> {
  return [...new Set((await auditLedger(billing.database)).map(({ promise }) => promise))];
}

test('a correct history has no faults', async () => {
  expect(await promisesBroken()).toEqual([]);
});

test.each([
  [
    'a call that never ended',
    `insert into open_calls (account_id, id, operation, claim_key, pool, units_reserved, accepted_at, deadline_at)
       select account_id, id, operation, claim_key, pool, units_reserved, accepted_at, deadline_at from finished_calls`,
    'every call ends',
  ],
  [
    'a claim charged twice',
    `insert into finished_calls (account_id, id, operation, claim_key, state, pool, units_reserved, units_charged,
       accepted_at, deadline_at, attempts, background)
     select account_id, gen_random_uuid(), operation, claim_key, state, pool, units_reserved, units_charged,
       accepted_at + interval '299 seconds', deadline_at, attempts, background
     from finished_calls where state = 'settled' limit 1`,
    'a claim is charged once within five minutes',
  ],
  [
    'a charge that differs from its ledger lines',
    `update finished_calls set units_charged = units_charged - 1 where state = 'settled'`,
    'the ledger lines of a call add up to its charge',
  ],
  [
    'a usage of a day that differs from its calls',
    'update usage_days set units = units + 1',
    'the usage of a day equals the sum of its calls',
  ],
  [
    'a meter that differs from its ledger lines',
    'update subscriptions set day_used = day_used + 1',
    'the meters of a subscription equal the sums of its ledger lines',
  ],
  [
    'a pack that differs from its ledger lines',
    'update packs set remaining_units = remaining_units - 1',
    'the units left in a pack equal the sum of its ledger lines',
  ],
  [
    'a pack that was charged more units than it had',
    `update ledger set units = 3 where kind = 'grant'`,
    'no pack is ever overdrawn',
  ],
  [
    'a day that was charged more units than its limit',
    'update plans set daily_limit = 19',
    'no daily or monthly limit of a subscription is ever exceeded',
  ],
  [
    'a minute with more calls than its limit',
    'update plans set minute_limit = 2',
    'no minute limit of a subscription is ever exceeded',
  ],
])('%s is found', async (_what, tampering, promise) => {
  const client = await billing.database.connect();
  try {
    await client.query('begin');
    await client.query(tampering);
    const found = await auditLedger(client);
    expect(found.map((fault) => fault.promise)).toContain(promise);
  } finally {
    await client.query('rollback');
    client.release();
  }
});
