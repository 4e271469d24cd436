import type { Socket } from 'node:net';
import type pg from 'pg';
import type { Logger } from '../log.ts';
import { StoreHangs } from '../outage.ts';
import type { Database } from './pool.ts';
import { connectToPrimary } from './servers.ts';

const ASK_EVERY_MS = 250;

/**
 * Probes PostgreSQL with `select 1` while queries of these pools are running. A server that does not answer in time hangs: it
 * is stopped, or the network does not reach it. Then the connections are closed, so that each query fails a moment after
 * this limit instead of at its own, which is long enough for slow queries.
 */
export function watchForHangs(
  url: string,
  pools: readonly Database[],
  answerLimitMs: number,
  log: Logger,
): { close(): Promise<void> } {
  /** The connections with queries, by the time they were taken out of their pool. */
  const busy = new Map<pg.PoolClient, number>();
  let probe: pg.Client | null = null;
  let asking: Promise<void> | null = null;
  let isClosed = false;
  for (const pool of pools) {
    pool.on('acquire', (client) => busy.set(client, performance.now()));
    pool.on('release', (_error, client) => busy.delete(client));
    pool.on('remove', (client) => busy.delete(client));
  }

  async function ask(): Promise<void> {
    const askedAt = performance.now();
    if (!(await answersInTime(selectOne()))) {
      log.warn(
        { connections: busy.size },
        'PostgreSQL does not answer; closing the connections with queries',
      );
      for (const [client, since] of busy) if (since <= askedAt) breakConnection(client);
    }
  }

  async function selectOne(): Promise<void> {
    if (!probe) await openProbe();
    await probe?.query('select 1');
  }

  async function openProbe(): Promise<void> {
    // Longer than a server may take, because the end of this limit counts as a refusal, which is an answer.
    const connectionTimeoutMillis = 2 * answerLimitMs;
    const client = await connectToPrimary(url, { application_name: 'souk-probe', connectionTimeoutMillis });
    client.on('end', () => {
      if (probe === client) probe = null;
    });
    // A search that took too long may end after the next one, or after the end of this watch.
    if (probe || isClosed) await client.end();
    else probe = client;
  }

  /** Returns whether the server answers in time. A refusal is an answer, which the queries receive as well. */
  async function answersInTime(answer: Promise<void>): Promise<boolean> {
    let hasAnswered = false;
    const answered = answer
      .catch(() => dropProbe())
      .then(() => {
        hasAnswered = true;
      });
    let timer: NodeJS.Timeout | undefined;
    const timeIsOver = new Promise<void>((resolve) => {
      // First process the answers that have arrived while this process was busy.
      timer = setTimeout(() => setImmediate(() => setImmediate(resolve)), answerLimitMs);
    });
    await Promise.race([answered, timeIsOver]);
    clearTimeout(timer);
    if (!hasAnswered) dropProbe();
    return hasAnswered;
  }

  function dropProbe(): void {
    if (probe) breakConnection(probe);
    probe = null;
  }

  const timer = setInterval(() => {
    if (asking || busy.size === 0) return;
    asking = ask().finally(() => {
      asking = null;
    });
  }, ASK_EVERY_MS).unref();
  return {
    async close() {
      clearInterval(timer);
      isClosed = true;
      await asking;
      await probe?.end().catch(() => {});
    },
  };
}

/** Closes a connection at once; its query fails. The driver itself would wait for the server. */
function breakConnection(client: pg.ClientBase): void {
  const { connection } = client as unknown as { connection: { stream: Socket } };
  connection.stream.destroy(new StoreHangs('PostgreSQL does not answer.'));
}
