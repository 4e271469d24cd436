import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BilledAccount, type Billing, openBilling } from '../support/billing.ts';
import { auditClients } from '../support/soak/client-audit.ts';
import { auditLedger } from '../support/soak/ledger-audit.ts';
import { OBSERVATIONS } from '../support/soak/observations.ts';

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
  expect(await foundAfter(tampering, auditLedger)).toContain(promise);
});

/** SQL that notes an answer for the settled call of 12 units, or for the released call. */
const observed = (state: string, outcome: string, said: string, units: number, more = '') => `
  insert into soak_observations
  select 'call', account_id, '/path', encode(substring(claim_key for 16), 'hex'), accepted_at, accepted_at, '${outcome}', '${said}',
    ${more || 'id'}, ${units}
  from finished_calls where state = '${state}' and units_charged in (0, 12)`;

test('correct answers have no faults', async () => {
  const answers = [
    observed('settled', 'answered', '200', 12),
    observed('settled', 'answered', '200 joined', 0),
    observed('released', 'failed', '502 UPSTREAM_ERROR', 0),
  ];
  expect(await foundAfter(answers.join(';'), auditClients)).toEqual([]);
});

test.each([
  [
    'a job whose id a client received exists',
    observed('settled', 'answered', '200', 12, 'gen_random_uuid()'),
  ],
  ['an answered call is settled', observed('released', 'answered', '200', 0)],
  ['an answered call cost the units in its answer', observed('settled', 'answered', '200', 11)],
  ['a joined call costs nothing', observed('settled', 'answered', '200 joined', 12)],
  ['an error states 0 units', observed('released', 'failed', '502 UPSTREAM_ERROR', 5)],
  ['a failed call is not charged', observed('settled', 'failed', '502 UPSTREAM_ERROR', 0)],
  [
    'a call of which every client received an error is not charged',
    observed('settled', 'failed', '503 BUSY', 0, 'null'),
  ],
  ['every request is answered in time', observed('settled', 'unheard', 'UND_ERR_HEADERS_TIMEOUT', 0, 'null')],
  [
    'every accepted job has a result',
    `${observed('settled', 'refused', '404 JOB_NOT_FOUND', 0)}; update soak_observations set kind = 'result'`,
  ],
])('finds a history that breaks the promise: %s', async (promise, tampering) => {
  expect(await foundAfter(tampering, auditClients)).toContain(promise);
});

/** Returns the promises that are broken after a change, which is taken back. */
async function foundAfter(tampering: string, audit: typeof auditLedger): Promise<string[]> {
  const client = await billing.database.connect();
  try {
    await client.query('begin');
    await client.query(OBSERVATIONS);
    await client.query(tampering);
    return (await audit(client)).map((fault) => fault.promise);
  } finally {
    await client.query('rollback');
    client.release();
  }
}
