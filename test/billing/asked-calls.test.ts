import { randomBytes } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { encode } from '../../src/billing/admission-request.ts';
import { type Billing, openBilling, refusalOf } from '../support/billing.ts';

let billing: Billing;
beforeAll(async () => {
  billing = await openBilling();
});
afterAll(() => billing.close());

const subscribed = () => billing.account({ subscriptions: [{}] });
const newChargeId = () => randomBytes(16).toString('hex');

test('stores the input and the answer of a call as they are, also with characters that arrays and JSON escape', async () => {
  const account = await subscribed();
  const text = '{"a\\",b} \n\t NULL \u2028 \'$1\' äöü 👍 ,,"';
  const [input, answer] = [{ [text]: [text, null, 'NULL', ''] }, `own:${text}`];
  const [started, cached] = await Promise.all([
    billing.admit(account, 1, { input }),
    billing.admit(account, 1, { answer }),
  ]);
  const { rows } = await billing.database.query('select id, input, answer from calls where account_id = $1', [
    account.accountId,
  ]);
  expect(new Map(rows.map(({ id, ...stored }) => [id, stored]))).toEqual(
    new Map([
      [started.callId, { input, answer: null }],
      [cached.callId, { input: null, answer }],
    ]),
  );
});

test('admits calls whose callers know the account of their key together with those that do not', async () => {
  const accounts = [await subscribed(), await subscribed(), await subscribed()];
  const admissions = await Promise.all(
    accounts.map((account, i) =>
      billing.admit(account, 1, {
        caller: { keyHash: account.keyHash, ...(i === 1 ? { keyAccountId: account.accountId } : {}) },
      }),
    ),
  );
  expect(admissions.map(({ accountId }) => accountId)).toEqual(accounts.map(({ accountId }) => accountId));
});

test('refuses a key whose caller names another account, and charges neither', async () => {
  const [account, other] = [await subscribed(), await subscribed()];
  const caller = { keyHash: account.keyHash, keyAccountId: other.accountId };
  expect(await refusalOf(billing.admit(account, 1, { caller }))).toMatchObject({ kind: 'KEY_INVALID' });
  const { rowCount } = await billing.database.query('select from ledger where account_id = any($1)', [
    [account.accountId, other.accountId],
  ]);
  expect(rowCount).toBe(0);
});

test('refuses a call of a batch whose account does not exist, beside admitted calls', async () => {
  const account = await subscribed();
  const [refused, admitted] = await Promise.all([
    refusalOf(billing.admit(account, 1, { caller: { accountId: 999_999_999 }, background: true })),
    billing.admit(account, 1),
  ]);
  expect(refused).toMatchObject({ kind: 'KEY_INVALID' });
  expect(admitted).toMatchObject({ kind: 'started' });
});

test('of calls of a batch that repeat each other, the first is admitted and the others join it', async () => {
  const account = await subscribed();
  // Only calls of a subscription whose present month is known are admitted together.
  await billing.admit(account, 1);
  // So many that sorting them by their charge alone exchanges some that are equal.
  const charges = Array.from({ length: 20 }, newChargeId);
  const calls = [...charges, ...charges.toSorted(), ...charges].map((chargeId) => ({
    caller: { keyHash: account.keyHash, keyAccountId: account.accountId },
    callId: uuid(),
    operation: 'market.product',
    chargeId,
    units: 1,
    pool: 'market' as const,
    deadlineAt: billing.clock.now() + 60_000,
    input: null,
    answer: 'own',
    background: false,
  }));
  const asked = encode(calls);
  const { rows } = await billing.database.query(
    `select outcome, call_id as "callId"
    from souk_admit_calls($1, 300, '00:00', '00:00', 'UTC', 'infinity', ${asked.map((_, i) => `$${i + 2}`).join()})
    order by idx`,
    [new Date(billing.clock.now()), ...asked],
  );
  expect(rows).toEqual(
    calls.map(({ chargeId }, i) => ({
      outcome: i < charges.length ? 'admitted' : 'joined',
      callId: calls[charges.indexOf(chargeId)]?.callId,
    })),
  );
});

test('a call that repeats one whose claim is older than five minutes replaces the claim', async () => {
  const account = await subscribed();
  const chargeId = newChargeId();
  await billing.admit(account, 1, { chargeId, answer: 'first' });
  billing.clock.advance(301_000);
  const second = await billing.admit(account, 1, { chargeId, answer: 'second' });
  expect(second).toMatchObject({ kind: 'cached' });
  expect(await billing.admit(account, 1, { chargeId })).toMatchObject({
    kind: 'joined',
    callId: second.callId,
    answer: 'second',
  });
});

test('counts the calls of accounts that have calls of the day and of those that have none', async () => {
  const [known, fresh] = [await subscribed(), await subscribed()];
  await billing.admit(known, 2, { answer: 'own' });
  await Promise.all([
    billing.admit(known, 3, { answer: 'own' }),
    billing.admit(fresh, 4, { answer: 'own' }),
    billing.admit(fresh, 5, { answer: 'own', operation: 'market.search' }),
  ]);
  const { rows } = await billing.database.query(
    'select account_id, operation, calls, units from usage_days where account_id = any($1) order by 1, 2',
    [[known.accountId, fresh.accountId]],
  );
  expect(rows.map(({ account_id, calls, units }) => [account_id, Number(calls), Number(units)])).toEqual([
    [known.accountId, 2, 5],
    [fresh.accountId, 1, 4],
    [fresh.accountId, 1, 5],
  ]);
});
