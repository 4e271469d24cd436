import { hostname } from 'node:os';
import pg from 'pg';
import { type Clock, every, type ServiceClock, systemClock } from '../clock.ts';
import { SoukError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { NoPrimary } from '../outage.ts';
import { unixMs } from './rows.ts';

/** If the clock of a machine differs from PostgreSQL's by more than this, its processes are not ready and move no money. */
const MOST_DIFFERENCE_MS = 5_000;

const READ_EVERY_MS = 1_000;

/** How often a process with a wrong clock notes it in PostgreSQL. */
const NOTED_EVERY_MS = 30_000;

/** A reading that took longer is too inaccurate and is discarded. */
const SLOWEST_READING_MS = 1_000;

/** A clock that shows PostgreSQL's time. Between two readings, the monotonic timer of the process moves it on. */
export interface DatabaseClock extends ServiceClock {
  /** Reads the time of this database now and every second, until the returned function is called. */
  follow(database: Database, log: Logger): Promise<() => Promise<void>>;
}

/** @param machine the clock of this machine: shown until PostgreSQL has answered for the first time. */
export function databaseClock(machine: Clock = systemClock): DatabaseClock {
  /** PostgreSQL's time when `performance.now()` was 0. */
  let originMs: number | null = null;
  const now = () => (originMs === null ? machine.now() : Math.floor(originMs + performance.now()));
  const machineAheadMs = () => (originMs === null ? null : machine.now() - now());

  async function read(database: Database): Promise<void> {
    const askedAt = performance.now();
    const at = await readTime(database);
    const answeredAt = performance.now();
    if (originMs !== null && answeredAt - askedAt > SLOWEST_READING_MS) return;
    originMs = at - (askedAt + answeredAt) / 2;
  }

  return {
    now,
    after: machine.after,
    machineAheadMs,
    async follow(database, log) {
      let wasRight = true;
      let notedAt = Number.NEGATIVE_INFINITY;
      const readAndLog = async () => {
        await read(database).catch((error) =>
          log.debug({ err: error }, 'failed to read the time of PostgreSQL'),
        );
        const isRight = originMs === null || isClockRight({ machineAheadMs });
        const fields = { aheadMs: machineAheadMs() };
        if (wasRight && !isRight)
          log.error(fields, 'the clock of this machine differs from that of PostgreSQL');
        if (!wasRight && isRight)
          log.info(fields, 'the clock of this machine agrees with that of PostgreSQL');
        wasRight = isRight;
        if (isRight || now() - notedAt < NOTED_EVERY_MS) return;
        notedAt = now();
        await noteWrongClock(database, machineAheadMs() ?? 0).catch((error) =>
          log.debug({ err: error }, 'failed to note that the clock of this machine is wrong'),
        );
      };
      await readAndLog();
      return every(machine, READ_EVERY_MS, readAndLog);
    },
  };
}

/** Notes for the alerts of the operator that the clock of this machine is wrong. */
async function noteWrongClock(database: Queryable, aheadMs: number): Promise<void> {
  await database.query(
    `insert into wrong_clocks as w (process, ahead_ms, noted_at) values ($1, $2, clock_timestamp())
     on conflict (process) do update set ahead_ms = excluded.ahead_ms, noted_at = excluded.noted_at`,
    [`${hostname()}, process ${process.pid}`, aheadMs],
  );
}

/** Returns PostgreSQL's time in Unix milliseconds. */
export async function readTime(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ at: number }>(`select ${unixMs('clock_timestamp()')} as at`);
  return (rows[0] as { at: number }).at;
}

/** Returns whether the clock of this machine agrees with PostgreSQL's, so that this process may move money. */
export function isClockRight({ machineAheadMs }: Pick<ServiceClock, 'machineAheadMs'>): boolean {
  const aheadMs = machineAheadMs();
  return aheadMs !== null && Math.abs(aheadMs) <= MOST_DIFFERENCE_MS;
}

/** Why a process with a wrong clock is not ready; null if its clock is right. */
export function clockFault(clock: ServiceClock): { clockAheadSeconds: number } | null {
  const aheadMs = clock.machineAheadMs();
  return aheadMs === null || isClockRight(clock) ? null : { clockAheadSeconds: aheadMs / 1000 };
}

/** @throws SoukError BUSY if the clock of this machine is wrong. */
export function requireRightClock(clock: ServiceClock): void {
  if (isClockRight(clock)) return;
  throw new SoukError('BUSY', {
    message: 'The clock of this server is wrong; retry later.',
    retryAfterSeconds: 10,
  });
}

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
  /** How long this process waits for the answer to a statement before it closes the connection. Default: five seconds longer than PostgreSQL. */
  answerMs?: number;
  /** How long a query waits for a connection. */
  connectMs?: number;
  /** Settings of PostgreSQL for each connection, by name. A connection without them is never used. */
  session?: Readonly<Record<string, string>>;
  /** A statement for each connection to a server that accepts writes. A connection on which it fails is never used. */
  prepare?: string;
  /** Receives the errors of statements for which a connection is closed, among them all outages and time limits. */
  onError?: (error: unknown) => void;
}

/** How much longer than the limit of PostgreSQL this process waits for a statement. */
const UNANSWERED_MS = 5_000;

/** The operating system probes a connection that has been silent for this long. */
const KEEP_ALIVE_AFTER_MS = 10_000;

/** A connection is closed after this time, so that a process leaves a former primary even if its connections stay open and only read. */
const LIFETIME_SECONDS = 60;

/** Compiling a query, which many builds of PostgreSQL do by default, takes longer than any of ours runs. */
const SETTINGS = { jit: 'off' };

/**
 * Opens a pool of connections to a server that accepts writes. bigint columns are returned as numbers: none of ours comes near 2^53.
 */
export function openDatabase(url: string, log: Logger, options: DatabaseOptions = {}): Database {
  const { max = 10, limits = STATEMENT_LIMITS.requests, connectMs = 10_000 } = options;
  const { session = {}, prepare, onError } = options;
  const { statementMs, lockMs, idleInTransactionMs } = limits;
  const { answerMs = statementMs && statementMs + UNANSWERED_MS } = options;
  const allowsStandby = new URL(url).searchParams.get('target_session_attrs') === 'any';
  const pool = new pg.Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    query_timeout: answerMs,
    maxLifetimeSeconds: LIFETIME_SECONDS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    application_name: 'souk',
    types: { getTypeParser },
    // oxlint-disable-next-line typescript/no-misused-promises -- the pool awaits it, although its type does not say so.
    onConnect: async (client: pg.ClientBase) => {
      const isReadOnly = await prepareConnection(client, { ...SETTINGS, ...session }, connectMs);
      if (isReadOnly && !allowsStandby) throw new NoPrimary();
      if (prepare && !isReadOnly) await client.query(prepare);
    },
  });
  // A broken idle connection must not end the process. The next query opens another one.
  pool.on('error', (error) => log.warn({ err: error }, 'lost an idle database connection'));
  // A connection that breaks between two queries must not end the process either. Its next query fails.
  pool.on('connect', (client) => client.on('error', () => {}));
  if (onError) pool.on('release', (error: unknown) => error instanceof Error && onError(error));
  return pool;
}

const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') => {
  if (oid === pg.types.builtins.INT8) return Number;
  return pg.types.getTypeParser(oid, format as 'text');
};

/** SQL that is true on a standby, and on a primary that has been made read-only before a change of roles. */
export const READ_ONLY = `current_setting('transaction_read_only')::boolean`;

/** The difference between the server's clock and this process's `performance.now()` when each connection was opened. */
const serverClocks = new WeakMap<pg.ClientBase, number>();

/** Notes the clock of the server, and applies the settings. @returns whether the server accepts no writes. */
async function prepareConnection(
  client: pg.ClientBase,
  session: Readonly<Record<string, string>>,
  answerMs: number,
): Promise<boolean> {
  const question = {
    text: `select clock_timestamp() as now, ${READ_ONLY} as "readOnly", (select count(set_config(name, value, false)) from
       unnest($1::text[], $2::text[]) as s (name, value))`,
    values: [Object.keys(session), Object.values(session)],
    // A server may accept connections and answer nothing.
    query_timeout: answerMs,
  };
  const { rows } = await client.query<{ now: Date; readOnly: boolean }>(question);
  serverClocks.set(client, Number(rows[0]?.now) - performance.now());
  return rows[0]?.readOnly === true;
}

/**
 * Returns the present time of the server at the other end of a connection, or slightly less. Statements with a time
 * limit by that clock use it: such a statement has no effect if a stopped server continues and executes it too late.
 */
export function serverTime(client: pg.ClientBase): number {
  return performance.now() + (serverClocks.get(client) ?? Number.NaN);
}
