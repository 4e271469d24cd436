import { Registry } from 'prom-client';
import { expect, inject, test } from 'vitest';
import { CANCELLABLE, cancellable } from '../../../src/platform/db/cancellable.ts';
import { type Database, openDatabase, type StatementLimits } from '../../../src/platform/db/pool.ts';
import { inTransaction } from '../../../src/platform/db/transaction.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { outageOf } from '../../../src/platform/outage.ts';
import { createTimeLimitMetrics } from '../../../src/platform/telemetry/time-limits.ts';

const NO_LIMITS: StatementLimits = { statementMs: 0, lockMs: 0, idleInTransactionMs: 0 };

async function withPool<T>(
  limits: Partial<StatementLimits>,
  task: (pool: Database) => Promise<T>,
  url = inject('templateDatabaseUrl').replace(/\/[^/]*$/, '/postgres'),
): Promise<T> {
  const pool = openDatabase(url, createLogger('silent'), {
    max: 2,
    session: CANCELLABLE,
    limits: { ...NO_LIMITS, ...limits },
  });
  try {
    return await task(pool);
  } finally {
    await pool.end();
  }
}

const outageIn = (promise: Promise<unknown>) => promise.then(() => 'none', outageOf);
const backendOf = async (pool: Pick<Database, 'query'>) =>
  (await pool.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;

test('ends a statement after its time limit: the store is slow', async () => {
  await withPool({ statementMs: 50 }, async (pool) => {
    expect(await outageIn(pool.query('select pg_sleep(600)'))).toBe('slow');
  });
});

test('ends the wait for a lock after its time limit: the store is slow', async () => {
  await withPool({ lockMs: 50 }, (pool) =>
    inTransaction(pool, async (holder) => {
      await holder.query('select pg_advisory_xact_lock(17)');
      expect(await outageIn(pool.query('select pg_advisory_xact_lock(17)'))).toBe('slow');
    }),
  );
});

test('counts statements that a time limit has ended, and no other errors', async () => {
  const registry = new Registry();
  const { postgresql: onError } = createTimeLimitMetrics(registry);
  const url = inject('templateDatabaseUrl').replace(/\/[^/]*$/, '/postgres');
  const limits = { ...NO_LIMITS, statementMs: 50 };
  const pool = openDatabase(url, createLogger('silent'), { max: 1, limits, onError });
  const inOne = (text: string) => outageIn(inTransaction(pool, (client) => client.query(text)));
  for (const run of [inOne, (text: string) => outageIn(pool.query(text))]) {
    expect(await run('select pg_sleep(600)')).toBe('slow');
    expect(await run('select 1 / 0')).toBe(null);
    expect(await run('select 1')).toBe('none');
  }
  await pool.end();
  expect(await registry.metrics()).toContain('souk_store_time_limits_total{store="postgresql"} 2');
});

test('ends a transaction without statements after its time limit', async () => {
  await withPool({ idleInTransactionMs: 50 }, async (pool) => {
    const client = await pool.connect();
    const ended = new Promise((resolve) => client.once('end', resolve));
    await client.query('begin');
    await ended;
    client.release();
    expect(await backendOf(pool)).toBeGreaterThan(0);
  });
});

test('closes its connection to a server that has become a standby', async () => {
  await withPool({}, async (pool) => {
    let pid: number | undefined;
    const refused = inTransaction(pool, async (client) => {
      pid = await backendOf(client);
      await client.query('set transaction read only');
      await client.query('create table refused_by_a_standby ()');
    });
    expect(await outageIn(refused)).toBe('down');
    expect(await backendOf(pool)).not.toBe(pid);
  });
});

test('a role without a free connection means that the store is down', async () => {
  await withPool({}, async (pool) => {
    await pool.query("create role crowded login password 'crowded' connection limit 0");
    try {
      const url = new URL(inject('templateDatabaseUrl').replace(/\/[^/]*$/, '/postgres'));
      url.username = 'crowded';
      url.password = 'crowded';
      await withPool(
        {},
        async (crowded) => expect(await outageIn(crowded.query('select 1'))).toBe('down'),
        url.href,
      );
    } finally {
      await pool.query('drop role crowded');
    }
  });
});

test('a cancelled query rejects with the reason of its signal, and the server ends it', async () => {
  await withPool({}, async (pool) => {
    const controller = new AbortController();
    const isActive = async () => {
      const active =
        "select 1 from pg_stat_activity where query = 'select pg_sleep(600)' and state = 'active'";
      return (await pool.query(active)).rowCount;
    };
    const database = cancellable(pool, controller.signal);
    const query = database.query('select pg_sleep(600)');
    const reason = new Error('the deadline');
    await expect.poll(isActive).toBe(1);
    controller.abort(reason);
    await expect(query).rejects.toBe(reason);
    await expect(database.query('select 1')).rejects.toBe(reason);
    await expect.poll(isActive).toBe(0);
  });
});
