import type pg from 'pg';
import { every, systemClock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { NoPrimary, outageOf } from '../outage.ts';
import { type Database, READ_ONLY } from './pool.ts';

const ASK_EVERY_MS = 500;

type Fault = 'does not answer' | 'is read-only' | null;

/**
 * Asks PostgreSQL twice a second, while these pools have connections, whether it accepts writes. If it does not, or does not answer in
 * time, all connections are closed: a query fails a moment after `answerLimitMs` instead of at its own limit, which is long
 * enough for slow queries, and no query reads old data from a former primary.
 * @param probe a pool of one connection, which waits for an answer longer than `answerLimitMs`.
 */
export function watchPrimary(
  probe: Database,
  pools: readonly Database[],
  answerLimitMs: number,
  log: Logger,
): () => Promise<void> {
  const all = [probe, ...pools];
  const busy = new Set<pg.PoolClient>();
  for (const pool of all) {
    pool.on('acquire', (client) => busy.add(client));
    pool.on('release', (_error, client) => busy.delete(client));
  }
  let lastFault: Fault = null;
  return every(systemClock, ASK_EVERY_MS, async () => {
    if (busy.size === 0 && pools.every(({ totalCount }) => totalCount === 0)) return;
    const fault = await withinLimit(faultOf(probe), answerLimitMs);
    if (fault && fault !== lastFault)
      log.warn({ connections: busy.size }, `PostgreSQL ${fault}; closing the connections to it`);
    lastFault = fault;
    if (!fault) return;
    // The driver breaks a connection with a query instead of waiting for the server.
    for (const client of busy) void client.end();
    all.forEach(closeIdle);
  });
}

async function faultOf(probe: Database): Promise<Fault> {
  try {
    const { rows } = await probe.query<{ readOnly: boolean }>(`select ${READ_ONLY} as "readOnly"`);
    return rows[0]?.readOnly ? 'is read-only' : null;
  } catch (error) {
    if (error instanceof NoPrimary) return 'is read-only';
    // A refusal is an answer, which the queries receive as well.
    return outageOf(error) === 'slow' ? 'does not answer' : null;
  }
}

async function withinLimit(answer: Promise<Fault>, limitMs: number): Promise<Fault> {
  let timer: NodeJS.Timeout | undefined;
  const timeIsOver = new Promise<Fault>((resolve) => {
    // First process the answers that have arrived while this process was busy.
    timer = setTimeout(() => setImmediate(() => setImmediate(resolve, 'does not answer')), limitMs);
  });
  return Promise.race([answer, timeIsOver]).finally(() => clearTimeout(timer));
}

function closeIdle(pool: Database): void {
  for (let left = pool.idleCount; left > 0; left -= 1)
    void pool.connect().then(
      (client) => client.release(true),
      () => {},
    );
}
