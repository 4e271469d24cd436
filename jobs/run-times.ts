import type { Clock } from '../src/platform/clock.ts';
import { HOUR_MS } from '../src/platform/durations.ts';
import type { Logger } from '../src/platform/log.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import type { CallEventSink } from '../src/platform/telemetry/call-events.ts';
import { writeBehind } from '../src/platform/write-behind.ts';

/** The weight of one job in the mean duration of its pool. */
export const SMOOTHING = 0.1;

const REPORT_EVERY_MS = 3_000;

/** How long a report is used after the last job of a pool. */
const LIFETIME_MS = HOUR_MS;

/** Reports the mean run times of the jobs of a worker, by pool, to all gateways, because no gateway receives the ends of all jobs. */
interface RunTimes {
  onEvent: CallEventSink;
  close(): Promise<void>;
}

export function createRunTimes(deps: { redis: Redis; keys: RedisKeys; clock: Clock; log: Logger }): RunTimes {
  const { redis, keys, clock, log } = deps;
  const means = new Map<string, number>();
  const reports = writeBehind<string, number>(clock, log, {
    what: 'run times',
    everyMs: REPORT_EVERY_MS,
    most: Number.POSITIVE_INFINITY,
    write: (changed) =>
      Promise.all(
        [...changed].map(([pool, mean]) => redis.set(keys.meanDuration(pool), mean, 'PX', LIFETIME_MS)),
      ),
  });

  return {
    onEvent(event) {
      if (event.type !== 'job.ended') return;
      const { pool, durationMs } = event;
      const before = means.get(pool);
      const mean = before === undefined ? durationMs : before + (durationMs - before) * SMOOTHING;
      means.set(pool, mean);
      reports.add(pool, mean);
      // Gateways know nothing about a pool before its first job has ended.
      if (before === undefined) void reports.flush();
    },
    close: reports.close,
  };
}

/** Returns the mean run time of the jobs of a pool; null if no worker has reported it. */
export async function readMeanDuration(redis: Redis, keys: RedisKeys, pool: string): Promise<number | null> {
  const reported = await redis.get(keys.meanDuration(pool));
  return reported === null ? null : Number(reported);
}
