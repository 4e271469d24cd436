import { v7 as uuid } from 'uuid';
import { expect } from 'vitest';
import { createAdmissions } from '../../src/billing/admission.ts';
import { expirePacks, RECONCILE_GRACE_MS, releaseOverdue } from '../../src/billing/settlement.ts';
import { isStoreDown } from '../../src/platform/outage.ts';
import { type BilledAccount, OFF_PEAK } from '../support/billing.ts';
import { whileLocked } from '../support/locked-account.ts';
import { CONNECTIONS } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';

const PATH = '/api/market/product?domain=1&asins=B0LOCKED01';

test('answers the calls of other accounts while one account is locked, and refuses only its calls with 503 BUSY', async ({
  souk,
  client,
  account,
  upstream: _,
}) => {
  const other = await souk.client();
  for (const one of [client, other]) expect((await one.get(PATH)).status).toBe(200);
  await whileLocked(souk.database, account, async () => {
    let isAnswered = false;
    const refused = client.get('/api/market/product?domain=1&asins=B0LOCKED02').finally(() => {
      isAnswered = true;
    });
    const replies = await Promise.all(
      Array.from({ length: 5 }, (_, i) => other.get(`/api/market/product?domain=1&asins=B0OTHERS0${i}`)),
    );
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect((await refused).json.code).toBe('BUSY');
    expect((await refused).status).toBe(503);
    expect((await refused).headers['retry-after']).toBe('1');
    expect(isAnswered).toBe(true);
    // A prediction takes no lock.
    expect((await client.get(`${PATH}&dryRun=1`)).json.data.wouldBeAdmitted ?? true).toBe(true);
  });
  const { rows } = await souk.database.query('select 1 from calls where account_id = $1', [
    account.accountId,
  ]);
  expect(rows).toHaveLength(1);
});

test('admits a call of a locked account when its lock is released', async ({ billing }) => {
  const [locked, other] = [
    await billing.account({ subscriptions: [{}] }),
    await billing.account({ subscriptions: [{}] }),
  ];
  await whileLocked(billing.database, locked, async (unlock) => {
    const waiting = billing.admit(locked, 2);
    // Both calls share a round trip, so the other one had the outcome `locked` when this one was admitted.
    expect((await billing.admit(other, 1)).kind).toBe('started');
    await unlock();
    expect((await waiting).kind).toBe('started');
  });
});

test('settles calls of other accounts while one account is locked', async ({ billing }) => {
  const [locked, other] = [
    await billing.account({ subscriptions: [{}] }),
    await billing.account({ subscriptions: [{}] }),
  ];
  const [held, free] = [await billing.admit(locked, 3), await billing.admit(other, 3)];
  await whileLocked(billing.database, locked, async (unlock) => {
    const waiting = billing.settle(locked, held.callId, 3);
    expect(await billing.settle(other, free.callId, 3)).toMatchObject({ endedNow: true, state: 'settled' });
    await unlock();
    expect(await waiting).toMatchObject({ endedNow: true, state: 'settled', unitsCharged: 3 });
  });
});

test('refuses to settle a call of an account that stays locked, and changes nothing', async ({ billing }) => {
  const locked = await billing.account({ subscriptions: [{}] });
  const { callId } = await billing.admit(locked, 3);
  await whileLocked(billing.database, locked, async () => {
    await expect(billing.settle(locked, callId, 3)).rejects.toMatchObject({ kind: 'BUSY' });
  });
  expect(await billing.settle(locked, callId, 3)).toMatchObject({ endedNow: true, unitsCharged: 3 });
});

test('does not treat a call of a locked account as missing, because its admission may hold the lock', async ({
  billing,
}) => {
  const account = await billing.account({ subscriptions: [{}] });
  const callId = uuid();
  await whileLocked(billing.database, account, async () => {
    await expect(billing.release(account, callId)).rejects.toMatchObject({ kind: 'BUSY' });
  });
  expect(await billing.release(account, callId)).toBeNull();
});

test('releases overdue calls, expires packs of others while one account is locked', async ({ billing }) => {
  const { clock, database, settlements } = billing;
  const pack = { units: 10, validUntil: new Date(clock.now() + 1_000) };
  const accounts: BilledAccount[] = [];
  for (let i = 0; i < 2; i += 1) accounts.push(await billing.account({ subscriptions: [{}], packs: [pack] }));
  const [locked, other] = accounts as [BilledAccount, BilledAccount];
  for (const account of accounts) await billing.admit(account, 3);
  clock.advance(60_001 + RECONCILE_GRACE_MS);
  const released = () => releaseOverdue(database, settlements, clock.now());
  const expired = async () => (await expirePacks(database, clock.now())).map(({ accountId }) => accountId);
  await whileLocked(database, locked, async () => {
    expect((await released()).map(({ accountId }) => accountId)).toContain(other.accountId);
    expect(await expired()).toEqual([other.accountId]);
  });
  expect((await released()).map(({ accountId }) => accountId)).toEqual([locked.accountId]);
  expect(await expired()).toEqual([locked.accountId]);
});

test('admits nothing by a statement that is executed after its caller gave up', async ({ billing }) => {
  const account = await billing.account({ subscriptions: [{}] });
  const admitWithin = (limitMs: number) =>
    createAdmissions(billing.database, billing.clock.now, OFF_PEAK, limitMs).admit(
      billing.request(account, 1),
    );
  const error = await admitWithin(-1).catch((late: unknown) => late);
  expect(isStoreDown(error)).toBe(true);
  const calls = await billing.database.query('select 1 from calls where account_id = $1', [
    account.accountId,
  ]);
  expect(calls.rowCount).toBe(0);
  expect((await admitWithin(60_000)).kind).toBe('started');
});

test('admits calls while requests hold all connections of API and pages', async ({ souk, client }) => {
  const other = await souk.client();
  expect((await client.get(PATH)).status).toBe(200);
  const blocker = await souk.database.connect();
  await blocker.query('begin');
  await blocker.query('lock table batches in access exclusive mode');
  const blocked = Array.from({ length: 40 }, () => other.get('/api/batches'));
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await expect.poll(async () => (await souk.database.query(waiting)).rowCount).toBe(CONNECTIONS);
  const replies = await Promise.all(Array.from({ length: 5 }, () => client.get(PATH)));
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  await blocker.query('rollback');
  blocker.release();
  // On a busy machine, the time limit of a lock or connection is over before.
  for (const { status } of await Promise.all(blocked)) expect([200, 503]).toContain(status);
});
