import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createKey, hashKey } from '../../src/accounts/authentication.ts';
import { billingOfFile, refusalOf } from '../support/billing.ts';

const billing = await billingOfFile();

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

test('refuses a key whose caller names another account, and charges neither', async () => {
  const [account, other] = [await subscribed(), await subscribed()];
  const caller = { keyHash: account.keyHash, accountId: other.accountId };
  expect(await refusalOf(billing.admit(account, 1, { caller }))).toMatchObject({ kind: 'KEY_INVALID' });
  const { rowCount } = await billing.database.query('select from ledger where account_id = any($1)', [
    [account.accountId, other.accountId],
  ]);
  expect(rowCount).toBe(0);
});

test('refuses a call of a batch whose account does not exist, alongside admitted calls', async () => {
  const account = await subscribed();
  const [refused, admitted] = await Promise.all([
    refusalOf(billing.admit(account, 1, { caller: { accountId: 999_999_999 }, background: true })),
    billing.admit(account, 1),
  ]);
  expect(refused).toMatchObject({ kind: 'KEY_INVALID' });
  expect(admitted).toMatchObject({ kind: 'started' });
});

test('if calls of a batch are identical, the first is admitted and the others join it', async () => {
  const account = await subscribed();
  const { accountId } = account;
  const keys = [account.keyHash];
  for (const _ of [1, 2])
    keys.push(hashKey(await createKey(billing.database, accountId, billing.clock.now())));
  const charges = Array.from({ length: 20 }, newChargeId);
  const admissions = await Promise.all(
    keys.map((keyHash) =>
      Promise.all(
        charges.map((chargeId) =>
          billing.admit(account, 1, { caller: { accountId, keyHash }, chargeId, answer: 'own' }),
        ),
      ),
    ),
  );
  for (const [i] of charges.entries()) {
    const ofCharge = admissions.map((ofKey) => ofKey[i]);
    expect(ofCharge.map((admission) => admission?.kind)).toEqual(['cached', 'joined', 'joined']);
    expect(new Set(ofCharge.map((admission) => admission?.callId)).size).toBe(1);
  }
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
