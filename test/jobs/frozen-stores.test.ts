import { expect } from 'vitest';
import { databaseClock } from '../../src/platform/db/pool.ts';
import { balancesFromLedger, keptBalances } from '../support/balances.ts';
import type { Client, Reply } from '../support/client.ts';
import { type OwnServers, openOwnServers } from '../support/own-servers.ts';
import type { Souk } from '../support/souk.ts';
import { test as base } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';

// The limits are those of connections, so the test uses real time and stops real servers.
const test = base
  .extend('servers', { scope: 'file' }, async ({}, { onCleanup }): Promise<OwnServers> => {
    const servers = await openOwnServers();
    onCleanup(() => servers.close());
    return servers;
  })
  .override('soukOptions', ({ servers }) => ({ servers, clock: databaseClock() }));

const path = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;
const CACHED = path('B0CACHED01');

/** Calls of every kind: answered from the cache, predicted, polled and waited for. */
async function callsOfEveryKind(client: Client, round: string): Promise<Reply[]> {
  const asins = Array.from({ length: 10 }, (_, i) => `B0FRZ${round}${String(i).padStart(4, '0')}`);
  return Promise.all([
    client.get(CACHED),
    client.get(`${CACHED}&dryRun=1`),
    client.get(`${path('B0FRZASYNC')}&async=1`),
    ...asins.map((asin) => client.get(path(asin))),
  ]);
}

const isRefusedInTime = ({ status, headers, json }: Reply) =>
  status === 503 && json.code === 'BUSY' && Number(headers['retry-after']) > 0;

/** Expects that every call has ended, that the balances equal the ledger, and that the units used equal the charges. */
async function expectBalanced(souk: Souk, client: Client, accountId: number): Promise<void> {
  await expect.poll(async () => (await openCalls(souk, accountId)).length).toBe(0);
  const now = Date.now();
  expect(await keptBalances(souk.database, accountId, now)).toEqual(
    await balancesFromLedger(souk.database, accountId, now),
  );
  expect(await unitsUsed(client)).toBe(await chargedUnits(souk, accountId));
}

async function openCalls({ database }: Souk, accountId: number): Promise<unknown[]> {
  const open = "select id from calls where account_id = $1 and state = 'reserved'";
  return (await database.query(open, [accountId])).rows;
}

async function chargedUnits({ database }: Souk, accountId: number): Promise<number> {
  const { rows } = await database.query<{ units: number }>(
    'select coalesce(sum(units_charged), 0) as units from calls where account_id = $1',
    [accountId],
  );
  return rows[0]?.units ?? 0;
}

/** How many statements or commands of the gateway a time limit has ended. */
async function endedByLimit({ gateways }: Souk, store: 'postgresql' | 'redis'): Promise<number> {
  const metrics = await gateways[0]?.registry.metrics();
  const line = new RegExp(`^souk_store_time_limits_total\\{store="${store}"\\} (\\d+)$`, 'm');
  return Number(line.exec(metrics ?? '')?.[1]);
}

test.for(['postgres', 'redis'] as const)(
  'refuses calls with 503 BUSY while the processes of %s are stopped, and serves again when they continue',
  { timeout: 300_000 },
  async (server, { souk, servers, account, client }) => {
    const { accountId } = account;
    const store = server === 'redis' ? 'redis' : 'postgresql';
    const endedBefore = await endedByLimit(souk, store);
    // The answer is cached, so a call of this account is charged immediately.
    expect((await (await souk.client()).get(CACHED)).status).toBe(200);
    const unitsBefore = await chargedUnits(souk, accountId);
    await servers.freeze(server);
    try {
      // A request that waited for the server would get no answer before the server continues.
      for (const round of ['A', 'B', 'C']) {
        const replies = await callsOfEveryKind(client, round);
        expect(replies.filter((reply) => !isRefusedInTime(reply)).map(({ text }) => text)).toEqual([]);
        const paths = ['/readyz', '/healthz', '/docs', '/api/quota', '/api/jobs'];
        const [ready, ...others] = await Promise.all(paths.map((path) => client.get(path)));
        expect([ready?.status, ready?.json]).toMatchObject([503, { missing: [store] }]);
        // Requests that need only PostgreSQL are answered while Redis is stopped.
        const free = server === 'redis' ? 200 : 503;
        expect(others.map(({ status }) => status)).toEqual([200, 200, free, free]);
      }
    } finally {
      servers.thaw();
    }
    await expect.poll(async () => (await client.raw('/readyz')).status).toBe(200);
    await expect.poll(async () => (await client.get(path('B0AFTER001'))).status).toBe(200);
    expect(await endedByLimit(souk, store)).toBeGreaterThan(endedBefore);
    // Refused calls were not charged, also not by a statement that the server executed after it continued.
    expect(await chargedUnits(souk, accountId)).toBe(unitsBefore + 1);
    await expectBalanced(souk, client, accountId);
  },
);
