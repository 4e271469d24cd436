import pg from 'pg';
import type { Logger } from '../log.ts';
import { isStoreAway, NoPrimary } from '../outage.ts';
import { reportingErrors } from '../reporting-errors.ts';
import { leaveReadOnlyServer } from './read-only-server.ts';
import { needsWrites, primaryClients, READ_ONLY, serversIn } from './servers.ts';

export type Database = pg.Pool;

/** A pool, or a connection within a transaction. */
export type Queryable = Pick<pg.ClientBase, 'query'>;

/** How long PostgreSQL may work on a statement, and wait for a lock, before it cancels the statement. In milliseconds; 0: no limit. */
export interface StatementLimits {
  statementMs: number;
  lockMs: number;
  /** How long a connection may be idle within a transaction before PostgreSQL closes it. */
  idleInTransactionMs: number;
}

/** The limits of each pool, by its purpose. docs/operating/limits.md lists them. */
export const STATEMENT_LIMITS = {
  /** Admission, settlement and key look-ups. */
  money: { statementMs: 2_000, lockMs: 1_000, idleInTransactionMs: 10_000 },
  /** The API, the pages, and the records that workers write. */
  requests: { statementMs: 15_000, lockMs: 1_000, idleInTransactionMs: 10_000 },
  /** Queries on weekly reports, which wait while an import replaces a table. Their jobs cancel them at their deadlines. */
  reports: { statementMs: 60_000, lockMs: 30_000, idleInTransactionMs: 10_000 },
  /** The reconciler and the maintenance of records. */
  upkeep: { statementMs: 60_000, lockMs: 1_000, idleInTransactionMs: 10_000 },
  /** Imports of reports and the operator's command, which take as long as they need. */
  unlimited: { statementMs: 0, lockMs: 0, idleInTransactionMs: 0 },
} as const satisfies Record<string, StatementLimits>;

export interface DatabaseOptions {
  /** The most connections. */
  max?: number;
  limits?: StatementLimits;
  /** How long a query waits for a connection. */
  connectMs?: number;
  /** Settings of PostgreSQL for each connection, by name. A connection without them is never used. */
  session?: Readonly<Record<string, string>>;
  /** Receives the errors of all statements, and of all attempts to connect. */
  onError?: (error: unknown) => void;
}

/** How much longer than the limit of PostgreSQL this process waits for a statement before it closes the connection. */
const UNANSWERED_MS = 5_000;

/** The operating system probes a connection that has been silent for this long. */
const KEEP_ALIVE_AFTER_MS = 10_000;

/**
 * Opens a pool of connections to the server that accepts writes, of those that the address names. Connections to a server that
 * becomes read-only are closed. bigint columns are returned as numbers: none of ours comes near 2^53.
 */
export function openDatabase(url: string, log: Logger, options: DatabaseOptions = {}): Database {
  const { max = 10, limits = STATEMENT_LIMITS.requests, connectMs = 10_000 } = options;
  const { session = {}, onError } = options;
  const { statementMs, lockMs, idleInTransactionMs } = limits;
  const [server, ...others] = serversIn(url);
  const primary = others.length > 0 ? primaryClients(url, connectMs) : null;
  const pool = new pg.Pool({
    connectionString: server,
    ...(primary && { Client: primary.Client }),
    max,
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    query_timeout: statementMs && statementMs + UNANSWERED_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    application_name: 'souk',
    types: { getTypeParser },
    // oxlint-disable-next-line typescript/no-misused-promises -- the pool awaits it, although its type does not say so.
    onConnect: async (client: pg.ClientBase) => {
      const isReadOnly = await prepareConnection(client, session);
      if (!isReadOnly || !needsWrites(url)) return;
      primary?.lost();
      throw new NoPrimary();
    },
  });
  // A broken idle connection must not end the process. The next query opens another one.
  pool.on('error', (error) => log.warn({ err: error }, 'lost an idle database connection'));
  // A connection that breaks between two queries must not end the process either. Its next query fails.
  pool.on('connect', (client) => client.on('error', () => primary?.lost()));
  // The message with which a server ends a connection arrives before the connection breaks.
  pool.on('release', (error: unknown) => {
    if (error === true || isStoreAway(error)) primary?.lost();
  });
  if (needsWrites(url))
    leaveReadOnlyServer(pool, () => {
      primary?.lost();
      log.warn('PostgreSQL has become read-only; closing the connections to this server');
    });
  if (onError) reportErrors(pool, onError);
  return pool;
}

function reportErrors(pool: Database, onError: (error: unknown) => void): void {
  pool.connect = reportingErrors(pool.connect.bind(pool), onError);
  pool.on('connect', (client) => {
    client.query = reportingErrors(client.query.bind(client), onError);
  });
}

const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') => {
  if (oid === pg.types.builtins.INT8) return Number;
  return pg.types.getTypeParser(oid, format as 'text');
};

/** The difference between the server's clock and this process's `performance.now()` when each connection was opened. */
const serverClocks = new WeakMap<pg.ClientBase, number>();

/** Notes the clock of the server, and applies the settings. @returns whether the server accepts no writes. */
async function prepareConnection(
  client: pg.ClientBase,
  session: Readonly<Record<string, string>>,
): Promise<boolean> {
  const { rows } = await client.query<{ now: Date; readOnly: boolean }>(
    `select clock_timestamp() as now, ${READ_ONLY} as "readOnly", (select count(set_config(name, value, false)) from
       unnest($1::text[], $2::text[]) as s (name, value))`,
    [Object.keys(session), Object.values(session)],
  );
  serverClocks.set(client, Number(rows[0]?.now) - performance.now());
  return rows[0]?.readOnly === true;
}

/**
 * Returns the present time of the server at the other end of a connection, or slightly less. A statement with a time limit
 * by that clock has no effect when a server that was stopped meanwhile executes it too late.
 */
export function serverTime(client: pg.ClientBase): number {
  return performance.now() + (serverClocks.get(client) ?? Number.NaN);
}
