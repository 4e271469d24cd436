import { v7 as uuid } from 'uuid';
import { expect, test } from 'vitest';
import { DEDUPLICATION_SECONDS, deleteOldClaims } from '../../src/billing/admission.ts';
import { billingOfFile } from '../support/billing.ts';

const billing = await billingOfFile();

const rowsIn = async (table: string) =>
  Number((await billing.database.query(`select count(*) as n from ${table}`)).rows[0].n);

test('a call leaves the table of open calls when it ends, and a claim is deleted when no call can join it', async () => {
  const account = await billing.account({ subscriptions: [{}] });
  const settled = await billing.admit(account, 1);
  const released = await billing.admit(account, 1);
  await billing.admit(account, 1, { answer: 'own' });
  expect([await rowsIn('open_calls'), await rowsIn('call_claims')]).toEqual([2, 1]);
  await billing.settle(account, settled.callId, 1);
  await billing.release(account, released.callId);
  expect([await rowsIn('open_calls'), await rowsIn('call_claims')]).toEqual([0, 2]);
  expect(await rowsIn('finished_calls')).toBe(3);

  billing.clock.advance(DEDUPLICATION_SECONDS * 1000);
  await deleteOldClaims(billing.database, billing.clock.now());
  expect(await rowsIn('call_claims')).toBe(2);
  billing.clock.advance(DEDUPLICATION_SECONDS * 1000 + 1);
  await deleteOldClaims(billing.database, billing.clock.now());
  expect(await rowsIn('call_claims')).toBe(0);
});

test('joins a settled call for five minutes, and an open one for as long as it runs', async () => {
  const account = await billing.account({ subscriptions: [{}] });
  const [done, running] = ['d1'.repeat(16), 'e2'.repeat(16)];
  const first = await billing.admit(account, 1, { chargeId: done, answer: 'own' });
  const open = await billing.admit(account, 1, { chargeId: running });
  billing.clock.advance(DEDUPLICATION_SECONDS * 1000 - 1);
  expect(await billing.admit(account, 1, { chargeId: done })).toMatchObject({
    kind: 'joined',
    callId: first.callId,
  });
  billing.clock.advance(DEDUPLICATION_SECONDS * 1000);
  await deleteOldClaims(billing.database, billing.clock.now());
  expect(await billing.admit(account, 1, { chargeId: running })).toMatchObject({
    kind: 'joined',
    callId: open.callId,
  });
  expect(await billing.admit(account, 1, { chargeId: done, answer: 'own' })).toMatchObject({
    kind: 'cached',
  });
});

test.for(['settled', 'released'])(
  'repeating the admission of a batch call that has been %s joins that call and charges nothing',
  async (ending) => {
    const account = await billing.account({ subscriptions: [{}] });
    const call = billing.request(account, 3, { caller: account, callId: uuid(), background: true });
    const { callId } = await billing.admissions.admit(call);
    await (ending === 'settled' ? billing.settle(account, callId, 3) : billing.release(account, callId));
    billing.clock.advance(DEDUPLICATION_SECONDS * 1000);
    expect(await billing.admissions.admit(call)).toMatchObject({ kind: 'joined', callId, finished: true });
    const { rows } = await billing.database.query('select from ledger where account_id = $1', [
      account.accountId,
    ]);
    expect(rows).toHaveLength(2);
  },
);

/** The relations that a plan reads. */
async function relationsOf(text: string, values: unknown[]): Promise<string[]> {
  const { rows } = await billing.database.query(
    `explain (analyze, buffers off, format json) ${text}`,
    values,
  );
  return [...JSON.stringify(rows[0]).matchAll(/"Relation Name":"(\w+)"/g)]
    .map(([, name = '']) => name)
    .sort();
}

test('looking up an open call reads no finished calls, and looking up a finished call reads one month', async () => {
  expect(
    await relationsOf("select * from calls where state = 'reserved' and deadline_at < $1", [new Date()]),
  ).toEqual(['open_calls']);
  const month = new Date().toISOString().slice(0, 7).replace('-', '_');
  expect(await relationsOf('select * from calls where account_id = $1 and id = $2', [1, uuid()])).toEqual([
    `finished_calls_${month}`,
    'open_calls',
  ]);
});
