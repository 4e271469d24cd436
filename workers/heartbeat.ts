import { reportAlive, reportGone, WORKER_LIFETIME_MS } from '../jobs/backlog.ts';
import type { WorkerPoolName } from '../src/operations/pools.ts';
import type { Clock } from '../src/platform/clock.ts';
import type { Logger } from '../src/platform/log.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import { startWorkLoop } from '../src/platform/work-loop.ts';

/** How often this process reports that it serves its pool. */
const REPORT_EVERY_MS = WORKER_LIFETIME_MS / 5;

export interface HeartbeatDeps {
  redis: Redis;
  keys: RedisKeys;
  clock: Clock;
  log: Logger;
}

/**
 * Reports that this process serves a pool, until it is closed.
 * @param workerId of this process. @param serve runs before the first report and with each further one.
 */
export async function startHeartbeat(
  { redis, keys, clock, log }: HeartbeatDeps,
  pool: WorkerPoolName,
  workerId: string,
  serve: () => Promise<void> = async () => {},
): Promise<{ close(): Promise<void> }> {
  /** Reports again if Redis took the report late, because it counts from the time that it names. */
  async function alive(): Promise<void> {
    let reportedAt: number;
    do {
      reportedAt = clock.now();
      await reportAlive(redis, keys, pool, workerId, reportedAt);
    } while (clock.now() - reportedAt >= REPORT_EVERY_MS);
  }

  await serve();
  await alive();
  const reporting = startWorkLoop(clock, `${pool} worker report`, REPORT_EVERY_MS, () =>
    Promise.all([alive(), serve()]).then(
      () => {},
      (error) => log.warn({ err: error, pool }, 'reporting failed'),
    ),
  );
  // Redis may have come back without its data, and gateways refuse calls of a pool without workers.
  redis.on('ready', reporting.wake);

  return {
    async close() {
      redis.off('ready', reporting.wake);
      await reporting.close();
      await reportGone(redis, keys, pool, workerId).catch(() => {});
    },
  };
}
