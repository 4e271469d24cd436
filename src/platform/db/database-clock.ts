import { type Clock, every, type ServiceClock, systemClock } from '../clock.ts';
import { SoukError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { unixMs } from './columns.ts';
import type { Database, Queryable } from './pool.ts';

/** If the clock of a machine differs from PostgreSQL's by more than this, its processes are not ready and move no money. */
const MOST_DIFFERENCE_MS = 5_000;

const READ_EVERY_MS = 1_000;

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
      };
      await readAndLog();
      return every(machine, READ_EVERY_MS, readAndLog);
    },
  };
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
