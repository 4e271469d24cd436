import { afterAll, beforeAll, expect, test } from 'vitest';
import { addKey } from '../../src/accounts/account-keys.ts';
import { hashKey } from '../../src/accounts/authentication.ts';
import { WITHOUT_LIMITS } from '../../src/accounts/key-settings.ts';
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
  const { key } = await addKey(billing.database, account.accountId, {
    settings: { ...WITHOUT_LIMITS, capDay: 10 },
    createdBy: null,
    now: billing.clock.now(),
  });
  const caller = { accountId: account.accountId, keyHash: hashKey(key) };
  const capped = await billing.admit(account, 4, { caller });
  await billing.settle(account, capped.callId, 3);
  await billing.admit(account, 2, { caller, answer: 'own' });
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
    'every call ends',
    `insert into open_calls (account_id, id, operation, claim_key, pool, units_reserved, accepted_at, deadline_at)
       select account_id, id, operation, claim_key, pool, units_reserved, accepted_at, deadline_at from finished_calls`,
  ],
  [
    'a claim is charged once within five minutes',
    `insert into finished_calls (account_id, id, operation, claim_key, state, pool, units_reserved, units_charged,
       accepted_at, deadline_at, attempts, background)
     select account_id, gen_random_uuid(), operation, claim_key, state, pool, units_reserved, units_charged,
       accepted_at + interval '299 seconds', deadline_at, attempts, background
     from finished_calls where state = 'settled' limit 1`,
  ],
  [
    'a call that continues a partial answer reserves at most the rest',
    `insert into finished_calls (account_id, id, operation, claim_key, state, pool, units_reserved, units_charged,
       accepted_at, deadline_at, attempts, background)
     select account_id, gen_random_uuid(), operation, claim_key, state, pool, units_reserved, units_charged,
       accepted_at + interval '1 second', deadline_at, attempts, background
     from finished_calls where state = 'settled' limit 1;
     update finished_calls set answer = 'partial:12' where state = 'settled'`,
  ],
  [
    'the ledger lines of a call add up to its charge',
    `update finished_calls set units_charged = units_charged - 1 where state = 'settled'`,
  ],
  ['the usage of a day equals the sum of its calls', 'update usage_days set units = units + 1'],
  [
    'the units that a cap counts equal those of the calls of its key',
    `update key_periods set units = units + 1 where period = 'month'`,
  ],
  [
    'the meters of a subscription equal the sums of its ledger lines',
    'update subscriptions set day_used = day_used + 1',
  ],
  [
    'the units left in a pack equal the sum of its ledger lines',
    'update packs set remaining_units = remaining_units - 1',
  ],
  ['no pack is ever overdrawn', `update ledger set units = 3 where kind = 'grant'`],
  ['no daily or monthly limit of a subscription is ever exceeded', 'update plans set daily_limit = 19'],
  ['no minute limit of a subscription is ever exceeded', 'update plans set minute_limit = 2'],
])('finds a history that breaks the promise: %s', async (promise, tampering) => {
  expect(await foundAfter(tampering)).toContain(promise);
});

/** Returns the promises that are broken after a change, which is taken back. */
async function foundAfter(tampering: string): Promise<string[]> {
  const client = await billing.database.connect();
  try {
    await client.query('begin');
    await client.query(tampering);
    return (await auditLedger(client)).map((fault) => fault.promise);
  } finally {
    await client.query('rollback');
    client.release();
  }
}
