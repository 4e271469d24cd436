import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, inject } from 'vitest';
import { expectBalancesOfLedger } from '../support/balances.ts';
import { type PostgresPair, startPostgresPair } from '../support/postgres-pair.ts';
import { test as base } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';

const test = base
  .extend('pair', { scope: 'file' }, async ({}, { onCleanup }): Promise<PostgresPair> => {
    const folder = await mkdtemp(join(tmpdir(), 'souk-pair-'));
    await chmod(folder, 0o755);
    const pair = await startPostgresPair(folder);
    onCleanup(async () => {
      await pair.close();
      await rm(folder, { recursive: true, force: true });
    });
    return pair;
  })
  .override('soukOptions', ({ pair }) => ({
    servers: { databaseUrl: pair.primaryUrl, redisUrl: inject('serviceRedisUrl') },
  }));

/** Stops the process of the standby that receives commits. @returns what continues it. */
async function stallStandby({ standbyUrl }: PostgresPair): Promise<() => void> {
  const client = new pg.Client({ connectionString: standbyUrl });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pid from pg_stat_wal_receiver');
  await client.end();
  const pid = rows[0]?.pid ?? Number.NaN;
  process.kill(pid, 'SIGSTOP');
  return () => void process.kill(pid, 'SIGCONT');
}

const pathOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;

test.for([
  ['is fetched', 'call.released', 'B0STALL001', pathOf('B0STALL001')],
  ['is answered from the cache', 'call.refunded', 'B0STALL002', pathOf('B0STALL002')],
  ['is answered from the cache as a job', 'call.released', 'B0STALL003', `${pathOf('B0STALL003')}&async=1`],
] as const)(
  'a call that %s and whose admission waits for a synchronous standby that hangs is refused and costs nothing',
  async ([_what, ended, asin, path], { souk, account, client, upstream, pair }) => {
    const { accountId } = account;
    // The first admission of a database notes its server, which would wait for the standby before there is any call.
    await (await souk.client()).get(pathOf(asin === 'B0STALL001' ? 'B0STALL000' : asin));
    const fetched = upstream.calls.length;
    const continueStandby = await stallStandby(pair);
    try {
      const reply = await client.get(path);
      expect([reply.status, reply.json.code]).toEqual([503, 'BUSY']);
      // While the commit waits, the gateway cannot see whether there is a call to release.
      await souk.clock.until('refused call');
      souk.clock.advanceTo('refused call');
      await souk.clock.until('refused call');
    } finally {
      continueStandby();
    }
    const open = 'select 1 from calls where account_id = $1';
    await expect.poll(async () => (await souk.database.query(open, [accountId])).rowCount).toBe(1);
    souk.clock.advanceTo('refused call');
    await souk.events.until(ended, { accountId });
    expect(await unitsUsed(client)).toBe(0);
    await expectBalancesOfLedger(souk, accountId);
    expect(upstream.calls).toHaveLength(fetched);
    const again = await client.get(pathOf(asin));
    expect([again.status, again.headers['x-units-consumed']]).toEqual([200, '1']);
  },
);
