import type { ClientBase } from 'pg';
import { v7 as uuid } from 'uuid';
import { expect } from 'vitest';
import { ensureAccount } from '../../src/accounts/accounts.ts';
import { countFed, type FedCall, pendingBatches, takeCalls } from '../../src/batches/batch-calls.ts';
import { endCall } from '../../src/batches/ending.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { SoukError, toRecord } from '../../src/platform/errors.ts';
import { test } from '../support/souk-test.ts';

const NOW = Date.UTC(2026, 2, 10);
const BATCHES = 5;
const PENDING = 3;

/** Creates batches with so many calls of each kind, and analyses the tables. @returns the id of one. */
async function createBatches(
  database: Database,
  calls: { finished: number; postponed: number; ofLightning: number },
): Promise<string> {
  const accountId = await ensureAccount(database, 'feeding@example.com', 'Feeding', NOW);
  const ids = Array.from({ length: BATCHES }, () => uuid());
  await database.query(
    `insert into batches (id, account_id, operation, state, feed_window, item_count, units_quoted, request_hash, created_at, deadline_at)
     select id, $2, 'market.lightningdeal', 'running', 'any', 1, 1, '', $3::timestamptz, $3::timestamptz + interval '1 day' from unnest($1::uuid[]) as id`,
    [ids, accountId, new Date(NOW)],
  );
  const kinds: [count: number, state: string, pool: string, notBefore: Date | string][] = [
    [calls.finished, 'done', 'market', '-infinity'],
    [calls.postponed, 'pending', 'market', new Date(NOW + 1_000)],
    [calls.ofLightning, 'pending', 'lightning', '-infinity'],
    [PENDING, 'pending', 'market', '-infinity'],
    [1, 'fed', 'market', '-infinity'],
  ];
  let first = 0;
  for (const [count, state, pool, notBefore] of kinds) {
    await database.query(
      `insert into batch_calls (batch_id, first_item, item_count, state, pool, units, items, input, not_before)
       select id, item, 1, $3, $4, 1, '[]', '{}', $5::timestamptz from unnest($1::uuid[]) as id, generate_series($2::integer, $6::integer) as item`,
      [ids, first, state, pool, notBefore, first + count - 1],
    );
    first += count;
  }
  await database.query('analyze batches, batch_calls');
  return ids[0] ?? '';
}

/** Returns how many rows and entries of indexes a task reads. */
async function readsOf(database: Database, task: (client: ClientBase) => Promise<unknown>): Promise<number> {
  const client = await database.connect();
  // The counts of this transaction, and of earlier ones that the server has not reported yet.
  const countReads = async () => {
    const { rows } = await client.query<{ reads: number }>(
      `select sum(pg_stat_get_xact_tuples_returned(oid))::integer as reads from pg_class where relname like 'batch%'`,
    );
    return rows[0]?.reads ?? 0;
  };
  try {
    await client.query('begin');
    const before = await countReads();
    await task(client);
    return (await countReads()) - before;
  } finally {
    await client.query('rollback');
    client.release();
  }
}

async function takeOne(client: ClientBase, batchId: string): Promise<FedCall> {
  const [call] = await takeCalls(client, batchId, ['market'], [uuid()], NOW);
  if (!call) throw new Error('no call was taken');
  return call;
}

const STEPS: Record<string, (client: ClientBase, batchId: string) => Promise<unknown>> = {
  'finding the batches to feed': (client) => pendingBatches(client, NOW),
  'counting the calls under way': countFed,
  'taking a call': takeOne,
  'taking and ending a call': async (client, batchId) => {
    const ending = { state: 'failed', error: toRecord(new SoukError('INTERNAL')) } as const;
    await endCall(client, await takeOne(client, batchId), ending, NOW, async () => undefined);
  },
};

test.for(['finished', 'postponed', 'ofLightning'] as const)(
  'a step of feeding reads a few rows a batch, however many calls of the batch are %s',
  async (kind, { database }) => {
    await database.query('truncate batches cascade');
    const batchId = await createBatches(database, {
      finished: 100,
      postponed: 100,
      ofLightning: 100,
      [kind]: 1_000,
    });
    for (const [name, step] of Object.entries(STEPS)) {
      const reads = await readsOf(database, (client) => step(client, batchId));
      expect(reads, name).toBeGreaterThan(0);
      expect(reads, name).toBeLessThan(10 * BATCHES);
    }
  },
);
