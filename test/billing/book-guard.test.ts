import { beforeEach, expect, test } from 'vitest';
import { BUDGET_OF_MINUTE_MS, guardBooks, listBookFaults, readGuard } from '../../src/billing/book-guard.ts';
import { BOOKS } from '../../src/billing/books.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { createLogger } from '../../src/platform/log.ts';
import { type BilledAccount, billingOfFile } from '../support/billing.ts';

const billing = await billingOfFile();
const { database, clock } = billing;
const deps = { database, clock, log: createLogger('silent') };

/** An account with a charged, a released and an open call on a pack, and one on a subscription. */
async function usedAccount(): Promise<BilledAccount> {
  const account = await billing.account({ packs: [{ units: 100 }] });
  await billing.admit(account, 5, { answer: 'own' });
  const { callId } = await settled(account, 7);
  await billing.refund(account, callId);
  await settled(account, 3);
  await billing.admit(account, 2);
  const subscribed = await billing.account({ subscriptions: [{ dailyLimit: 50 }] });
  await billing.admit(subscribed, 4, { answer: 'own' });
  return account;
}

async function settled(account: BilledAccount, units: number): Promise<{ callId: string }> {
  const request = billing.request(account, units);
  await billing.admissions.admit(request);
  await billing.settle(account, request.callId, units);
  return request;
}

/** Runs a round of a day. */
async function round(): Promise<void> {
  clock.advance(DAY_MS);
  await guardBooks(deps);
  expect(await readGuard(database)).toMatchObject({ afterAccount: null });
}

/** Everything that an audit could change. */
async function books(): Promise<unknown> {
  const { rows } = await database.query(
    `select (select json_agg(p order by id) from packs p) as packs, (select json_agg(l order by id) from ledger l) as ledger,
       (select json_agg(c order by id) from finished_calls c) as calls, (select json_agg(s order by id) from subscriptions s) as subscriptions,
       (select json_agg(o order by id) from open_calls o) as open, (select json_agg(u order by account_id, day) from usage_days u) as days`,
  );
  return rows[0];
}

let account: BilledAccount;
beforeEach(async () => {
  await database.query('update book_guard set after_account = null, round_started_at = null, owed_ms = 0');
  account = await usedAccount();
});

test('books that are right have no faults, and every account is audited', async () => {
  await round();
  const { rows } = await database.query<{ count: number }>('select count(*) as count from accounts');
  expect(await listBookFaults(database, 10)).toEqual([]);
  expect(await readGuard(database)).toMatchObject({ audited: rows[0]?.count, unaudited: 0 });
});

const DEFECTS: Record<string, [promise: string, spoil: string, mend: string]> = {
  'a lost unit of a pack': [
    'the units left in a pack equal the sum of its ledger lines',
    'update packs set remaining_units = remaining_units - 1 where account_id = $1',
    'update packs set remaining_units = remaining_units + 1 where account_id = $1',
  ],
  'a call that is charged twice': [
    'the ledger lines of a call add up to its charge',
    `insert into ledger (account_id, at, kind, source, source_id, call_id, units)
       select account_id, at, kind, source, source_id, call_id, units from ledger where account_id = $1 and kind = 'charge'`,
    `delete from ledger l where account_id = $1 and kind = 'charge' and id > (
       select min(id) from ledger where account_id = $1 and call_id = l.call_id and kind = 'charge')`,
  ],
  'a reservation without its line': [
    'the ledger lines of an open call add up to its reservation',
    'update open_calls set units_reserved = units_reserved + 1 where account_id = $1',
    'update open_calls set units_reserved = units_reserved - 1 where account_id = $1',
  ],
  'a call that no day counts': [
    'the usage of a day equals the sum of its calls',
    'update usage_days set calls = calls - 1 where account_id = $1',
    'update usage_days set calls = calls + 1 where account_id = $1',
  ],
};

test.for(Object.entries(DEFECTS))(
  '%s is reported for its account, stays unrepaired, and is forgotten when it is gone',
  async ([, [promise, spoil, mend]]) => {
    expect(Object.keys(BOOKS)).toContain(promise);
    await database.query(spoil, [account.accountId]);
    const before = await books();
    await round();
    const [fault, ...others] = await listBookFaults(database, 10);
    const foundAt = new Date(clock.now());
    expect(fault).toMatchObject({ accountId: account.accountId, promise, foundAt, seenAt: foundAt });
    // Another promise may depend on the same rows, but no other account is concerned.
    expect(others.filter(({ accountId }) => accountId !== account.accountId)).toEqual([]);
    expect(await books()).toEqual(before);

    await round();
    const [again] = await listBookFaults(database, 10);
    expect(again).toMatchObject({ promise, foundAt, seenAt: new Date(clock.now()) });

    await database.query(mend, [account.accountId]);
    await round();
    expect(await listBookFaults(database, 10)).toEqual([]);
  },
);

test('audits that take long pause until they have cost less than their share of the time', async () => {
  await round();
  let spent = 0;
  clock.advance(DAY_MS);
  /** Each look at the clock is a quarter of a second later, so an account takes that long at least. */
  const later = () => {
    spent += 250;
    return clock.now() + spent;
  };
  const slow = { ...deps, clock: { now: later, after: clock.after } };
  await guardBooks(slow);
  const first = await readGuard(database);
  expect(first.afterAccount).not.toBeNull();
  expect(first.owedMs).toBeGreaterThanOrEqual(BUDGET_OF_MINUTE_MS);
  await database.query('update book_guard set owed_ms = 10 * $1', [BUDGET_OF_MINUTE_MS]);
  for (let minute = 1; minute < 10; minute += 1) await guardBooks(slow);
  expect(await readGuard(database)).toMatchObject({
    afterAccount: first.afterAccount,
    owedMs: BUDGET_OF_MINUTE_MS,
  });
  await guardBooks(slow);
  expect((await readGuard(database)).afterAccount).not.toBe(first.afterAccount);
});

test('an account whose audit takes too long counts as not audited, and the others go on', async () => {
  const blocker = await database.connect();
  try {
    await blocker.query('begin');
    await blocker.query('lock table usage_days in access exclusive mode');
    clock.advance(DAY_MS);
    const limited = { ...deps, statementMs: 20 };
    await guardBooks(limited);
  } finally {
    await blocker.query('rollback');
    blocker.release();
  }
  const { audited, unaudited, afterAccount } = await readGuard(database);
  expect({ audited, afterAccount }).toEqual({ audited: 0, afterAccount: null });
  expect(unaudited).toBeGreaterThan(0);
});
