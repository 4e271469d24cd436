import { v7 as uuid } from 'uuid';
import { expect, inject } from 'vitest';
import { untilStored } from '../../jobs/stored.ts';
import { type Admission, createAdmissions } from '../../src/billing/admission.ts';
import { type Database, openDatabase } from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/log.ts';
import { balancesFromLedger, keptBalances } from '../support/balances.ts';
import { type BilledAccount, type Billing, OFF_PEAK, openBilling } from '../support/billing.ts';
import { openCrashingPostgres } from '../support/own-servers.ts';
import type { Souk } from '../support/souk.ts';
import { test as base } from '../support/souk-test.ts';

const SETTINGS = {
  // So long that the server writes its log only when a commit waits for it.
  wal_writer_delay: '10s',
  // A commit can wait for a standby as well.
  ...{ wal_level: 'replica', max_wal_senders: 2 },
};

const test = base
  .extend('postgres', { scope: 'file' }, async ({ demoSettings: _ }, { onCleanup }) => {
    const postgres = await openCrashingPostgres(SETTINGS);
    onCleanup(() => postgres.close());
    return postgres;
  })
  .extend('ownBilling', async ({ postgres }, { onCleanup }) => {
    const billing = await openBilling({ url: postgres.url });
    onCleanup(() => billing.close());
    return billing;
  })
  .extend('member', ({ ownBilling }) => ownBilling.account({ subscriptions: [{}] }))
  .override('soukOptions', ({ postgres }) => ({
    servers: { databaseUrl: postgres.url, redisUrl: inject('serviceRedisUrl') },
  }));

type Started = Extract<Admission, { kind: 'started' }>;

function started(admission: Admission): Started {
  if (admission.kind !== 'started') throw new Error(`the call was ${admission.kind}`);
  return admission;
}

/** The calls that the database has; its balances equal the ledger. */
async function callsIn({ database, clock }: Billing, { accountId }: BilledAccount): Promise<string[]> {
  expect(await keptBalances(database, accountId, clock.now())).toEqual(
    await balancesFromLedger(database, accountId, clock.now()),
  );
  const { rows } = await database.query<{ id: string }>('select id from calls where account_id = $1', [
    accountId,
  ]);
  return rows.map(({ id }) => id).sort();
}

test('a crash loses only an admission about which no customer knows', async ({
  postgres,
  ownBilling: billing,
  member,
}) => {
  const known = started(await billing.admit(member, 1));
  await known.stored;
  const unknown = await billing.admit(member, 1, { background: true });
  expect(await callsIn(billing, member)).toEqual([known.callId, unknown.callId].sort());
  await postgres.crash();
  expect(await callsIn(billing, member)).toEqual([known.callId]);
  // A batch repeats the admission of its call.
  const again = { background: true, callId: unknown.callId };
  expect(await billing.admit(member, 1, again)).toMatchObject({ kind: 'started', callId: unknown.callId });
});

test('a crash loses no call that was answered from the cache or joined', async ({
  postgres,
  ownBilling: billing,
  member,
}) => {
  const chargeId = 'ab'.repeat(16);
  const first = await billing.admit(member, 1, { background: true, chargeId });
  const joined = await billing.admit(member, 1, { chargeId });
  expect(joined).toMatchObject({ kind: 'joined', callId: first.callId, stored: null });
  await postgres.crash();
  expect(await callsIn(billing, member)).toEqual([first.callId]);

  const cached = await billing.admit(member, 1, { answer: 'own' });
  await postgres.crash();
  expect(await callsIn(billing, member)).toEqual([first.callId, cached.callId].sort());
});

/** Admissions whose flushes wait for the test. */
function openHeldAdmissions(url: string, billing: Billing) {
  const database: Database = openDatabase(url, createLogger('silent'));
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const pids: number[] = [];
  database.on('connect', (client) => {
    const query = client.query.bind(client) as (statement: object) => Promise<unknown>;
    client.query = (async (statement: { name?: string }) => {
      if (statement.name === 'flush') await released;
      return query(statement);
    }) as unknown as typeof client.query;
    pids.push((client as unknown as { processID: number }).processID);
  });
  const admissions = createAdmissions(database, billing.clock.now, OFF_PEAK);
  return { admissions, pids, release, close: () => database.end() };
}

test('refuses a caller whose call a crash has lost, and admits the call again', async ({
  postgres,
  ownBilling: billing,
  member,
}) => {
  const held = openHeldAdmissions(postgres.url, billing);
  const request = billing.request(member, 1);
  const admission = started(await held.admissions.admit(request));
  await postgres.crash();
  held.release();
  await expect(untilStored(billing, admission)).rejects.toMatchObject({ kind: 'BUSY' });
  expect(await callsIn(billing, member)).toEqual([]);
  // The job of the lost call ends without a charge.
  expect(await billing.settle(member, admission.callId, 1)).toBeNull();
  const again = await held.admissions.admit({ ...request, callId: uuid() });
  expect(again.kind).toBe('started');
  await held.close();
});

test('answers a caller whose connection to the database broke, but whose call the database has', async ({
  postgres,
  ownBilling: billing,
  member,
}) => {
  const held = openHeldAdmissions(postgres.url, billing);
  const admission = started(await held.admissions.admit(billing.request(member, 1)));
  await billing.database.query('select pg_terminate_backend(pid, 60000) from unnest($1::int[]) as pid', [
    held.pids,
  ]);
  held.release();
  await untilStored(billing, admission);
  await postgres.crash();
  expect(await callsIn(billing, member)).toEqual([admission.callId]);
  await held.close();
});

/** Makes commits that wait for the disk wait for a standby that does not exist. */
async function awaitStandby({ database }: Souk): Promise<void> {
  await database.query(`alter system set synchronous_standby_names = 'none'`);
  await database.query('select pg_reload_conf()');
  // Until the server has noticed the change, its commits do not wait.
  const probe = async () => {
    void database.query(`select pg_logical_emit_message(true, 'probe', '')`).catch(() => {});
    return waitingCommits(database, 'probe');
  };
  await expect.poll(probe).toBeGreaterThan(0);
}

async function waitingCommits(database: Database, query: string): Promise<number> {
  const { rowCount } = await database.query(
    `select 1 from pg_stat_activity where wait_event = 'SyncRep' and query like $1`,
    [`%pg_logical_emit_message(true, '${query}'%`],
  );
  return rowCount ?? 0;
}

async function completionsReceived({ gateways }: Souk): Promise<number> {
  const metrics = await gateways[0]?.registry.metrics();
  return Number(/^souk_completions_received_total\{channel="own"\} (\d+)$/m.exec(metrics ?? '')?.[1]);
}

test('a call is fetched and settled while its admission is written, and answered afterwards', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const path = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;
  // The gateway learns the key.
  expect((await client.get(path('B0KEPT0001'))).status).toBe(200);
  const { accountId } = account;
  const received = await completionsReceived(souk);
  await awaitStandby(souk);
  const settled = souk.events.next('call.settled', { accountId });
  let isAnswered = false;
  const reply = client.get(path('B0KEPT0002')).finally(() => {
    isAnswered = true;
  });
  try {
    await upstream.received(2, 'product');
    await settled;
    await expect.poll(() => completionsReceived(souk)).toBe(received + 1);
    // A reply that did not wait would be sent before that of a later request.
    expect((await client.raw('/healthz')).status).toBe(200);
    expect(await waitingCommits(souk.database, 'souk')).toBe(1);
    expect(isAnswered).toBe(false);
  } finally {
    await souk.database.query('alter system reset synchronous_standby_names');
    await souk.database.query('select pg_reload_conf()');
  }
  expect((await reply).status).toBe(200);
});
