import { request } from 'undici';
import { expect } from 'vitest';
import { grantPack } from '../../src/billing/grants.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { databaseClock } from '../../src/platform/db/pool.ts';
import { HOUR_MS } from '../../src/platform/durations.ts';
import { openMetricsServer } from '../../workers/metrics-server.ts';
import { newAsin } from '../support/answers.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', { clock: databaseClock(), workers: 0 });

const MACHINES = [
  ['an hour ahead', HOUR_MS],
  ['a day ahead', 24 * HOUR_MS],
  ['a day behind', -24 * HOUR_MS],
] as const;

const machine = (aheadMs: number) => databaseClock({ ...systemClock, now: () => Date.now() + aheadMs });

const path = () => `/api/market/product?domain=1&asins=${newAsin()}`;

async function ledgerOf({ database }: Souk, accountId: number): Promise<string[]> {
  const { rows } = await database.query<{ kind: string }>(
    'select kind from ledger where account_id = $1 order by id',
    [accountId],
  );
  return rows.map(({ kind }) => kind);
}

test.for(MACHINES)(
  'a gateway whose machine is %s refuses calls, answers free requests, and is not ready',
  async ([_, aheadMs], { souk, upstream: __ }) => {
    await souk.addGateway(machine(aheadMs));
    const { accountId, key } = await souk.account({ plan: { dailyLimit: 5 } });
    const client = souk.clientOf(key, souk.gateways.length - 1);
    const refused = await client.get(path());
    expect([refused.status, refused.json.code, refused.headers['retry-after']]).toEqual([503, 'BUSY', '10']);
    expect(await ledgerOf(souk, accountId)).toEqual([]);
    const { rows } = await souk.database.query<{ opened: boolean }>(
      "select day_start > '-infinity' as opened from subscriptions where account_id = $1",
      [accountId],
    );
    expect(rows).toEqual([{ opened: false }]);

    const { data } = (await client.get('/api/quota')).json;
    expect(Math.abs(Date.parse(data.serverTime) - Date.now())).toBeLessThan(5_000);
    const { status, json } = await client.get('/readyz');
    const ready = { status, json: json as unknown as { clockAheadSeconds: number } };
    expect([ready.status, ready.json]).toEqual([
      503,
      { status: 'not ready', missing: [], clockAheadSeconds: expect.any(Number) },
    ]);
    expect(Math.round(ready.json.clockAheadSeconds / 10)).toBe(aheadMs / 10_000);
    expect((await souk.clientOf(key).get('/readyz')).json).toEqual({ status: 'ready' });
  },
);

test.for(MACHINES)(
  'a worker whose machine is %s releases no open call, expires no pack, and settles at the time of PostgreSQL',
  async ([_, aheadMs], { souk, upstream: __ }) => {
    const clock = machine(aheadMs);
    const idle = await souk.addWorker(['trends'], clock);
    const { accountId, key } = await souk.account();
    const market = await souk.addWorker(['market'], machine(aheadMs));
    const reply = await souk.clientOf(key).get(path());
    expect(reply.status).toBe(200);
    const metrics = await openMetricsServer(idle.registry, {
      host: '127.0.0.1',
      port: 0,
      token: undefined,
      clock,
    });
    const { statusCode, body } = await request(`http://127.0.0.1:${metrics.port}/readyz`);
    expect([statusCode, await body.json()]).toEqual([
      503,
      { status: 'not ready', clockAheadSeconds: expect.any(Number) },
    ]);
    await metrics.close();
    // Only now, because the gateway, whose clock is right, releases and expires both at its next look.
    const now = Date.now();
    const validity = { validFrom: new Date(now - HOUR_MS), validUntil: new Date(now - 1) };
    const pack = { accountId, wallet: 'general' as const, units: 30, rateLimitPerMinute: 10, ...validity };
    await grantPack(souk.database, pack, now - HOUR_MS);
    await souk.database.query(
      `insert into open_calls (account_id, id, operation, claim_key, pool, units_reserved, accepted_at, deadline_at)
       values ($1, gen_random_uuid(), 'market.product', '\\x00', 'market', 0, now() - interval '1 hour',
         now() - interval '30 minutes')`,
      [accountId],
    );
    await idle.reconcile();
    expect(await ledgerOf(souk, accountId)).toEqual(['reserve', 'settle', 'grant']);
    const { rows } = await souk.database.query<{ state: string; late: number }>(
      `select state::text, extract(epoch from now() - coalesce(finished_at, now()))::float as late
       from calls where account_id = $1 order by accepted_at`,
      [accountId],
    );
    expect(rows.map(({ state }) => state)).toEqual(['reserved', 'settled']);
    expect(Math.abs(rows[1]?.late ?? Number.NaN)).toBeLessThan(60);
    await Promise.all([idle.close(), market.close()]);
    souk.workers.length = 0;
  },
);
