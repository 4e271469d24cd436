import { randomUUID } from 'node:crypto';
import { type Clock, every } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Database } from './pool.ts';

/** A holder that has not renewed its lease for this long counts as dead or stopped. */
const LEASE_MS = 15_000;

/** Returns whether the caller still has the lease, and keeps it for longer. */
export type Renew = () => Promise<boolean>;

/**
 * Runs a task unless another process runs it, or has run it within `pauseMs`. Two processes can run the task at the same
 * time if one was stopped for longer than its lease, so the task must be safe in several processes.
 * @returns whether it ran.
 */
export async function withLease(
  database: Database,
  clock: Clock,
  { name, pauseMs }: { name: string; pauseMs: number },
  task: (renew: Renew) => Promise<void>,
): Promise<boolean> {
  const holder = randomUUID();
  const hold = async (untilMs: number): Promise<boolean> => {
    const { rowCount } = await database.query({
      name: 'hold-lease',
      text: `insert into leases as l (name, holder, until) values ($1, $2, $3)
        on conflict (name) do update set holder = excluded.holder, until = excluded.until
          where l.holder = excluded.holder or l.until <= $4`,
      values: [name, holder, new Date(untilMs), new Date(clock.now())],
    });
    return rowCount === 1;
  };
  const renew = () => hold(clock.now() + LEASE_MS);
  const startedAt = clock.now();
  if (!(await renew())) return false;
  let endsAt = startedAt;
  try {
    await task(renew);
    endsAt = startedAt + pauseMs;
  } finally {
    // After a failure, any other process may try immediately.
    await hold(endsAt);
  }
  return true;
}

/** Runs a part of a task that cannot renew its lease, because it waits for one long statement, and renews it meanwhile. */
export async function keepLease<Result>(
  clock: Clock,
  renew: Renew,
  part: () => Promise<Result>,
): Promise<Result> {
  // Without PostgreSQL the lease is lost, and so is the part.
  const stop = every(clock, LEASE_MS / 3, () =>
    renew().then(
      () => {},
      () => {},
    ),
  );
  try {
    return await part();
  } finally {
    await stop();
  }
}

/**
 * Runs tasks every `everyMs`, each in one process at a time, until the returned function is called.
 * @param failure the line of the log if one fails.
 * @param tasks by the names of their leases. A pause is shorter than its interval: if it were equal, a run would be skipped when
 *   two timers differ by some milliseconds.
 */
export function everyWithLease(
  { database, clock, log }: { database: Database; clock: Clock; log: Logger },
  everyMs: number,
  failure: string,
  tasks: Readonly<Record<string, { pauseMs: number; task(renew: Renew): Promise<void> }>>,
): () => Promise<void> {
  return every(clock, everyMs, async () => {
    for (const [name, { pauseMs, task }] of Object.entries(tasks))
      await withLease(database, clock, { name, pauseMs }, task).catch((error: unknown) =>
        log.warn({ err: error, task: name }, failure),
      );
  });
}
