import type pg from 'pg';
import type { Database, Queryable } from '../platform/db/pool.ts';

/** Waits until the disk has what a connection has committed without waiting for it. */
export interface Flushes {
  /** Waits until few flushes are under way, because each has a connection that others need, too. */
  room(): Promise<void>;
  /** Begins a flush, and then releases the connection. @returns a promise that rejects if the server may have lost the commits. */
  begin(client: pg.PoolClient): Promise<void>;
}

const MOST_AT_ONCE = 2;

export function createFlushes(): Flushes {
  const underWay = new Set<Promise<void>>();
  return {
    async room() {
      while (underWay.size >= MOST_AT_ONCE) await Promise.race(underWay).catch(() => {});
    },
    begin(client) {
      const flushed = flush(client).then(
        () => client.release(),
        (error: unknown) => {
          client.release(true);
          throw error;
        },
      );
      const end = () => void underWay.delete(flushed);
      underWay.add(flushed);
      // A call without a caller that waits handles no rejection.
      flushed.then(end, end);
      return flushed;
    },
  };
}

/**
 * Commits a small record, and waits for the disk and for a synchronous standby. The log is written in order, so they then have all
 * that was committed before. On the same connection: a server that was started again meanwhile may have lost it.
 */
async function flush(client: Queryable): Promise<void> {
  await client.query({ name: 'flush', text: `select pg_logical_emit_message(true, 'souk', '')` });
}

/** Returns whether the server has a call, and then has it on the disk, after a flush has failed. */
export async function isStored(
  database: Database,
  { accountId, callId }: { accountId: number; callId: string },
): Promise<boolean> {
  const client = await database.connect();
  try {
    const { rowCount } = await client.query({
      name: 'stored-call',
      text: 'select 1 from calls where account_id = $1 and id = $2',
      values: [accountId, callId],
    });
    await flush(client);
    client.release();
    return rowCount === 1;
  } catch (error) {
    client.release(true);
    throw error;
  }
}
