import { type Clock, every } from '../src/platform/clock.ts';
import type { Logger } from '../src/platform/log.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import type { CallEventSink } from '../src/platform/telemetry/call-events.ts';

/** The weight of one job in the mean run time of its pool. */
const SMOOTHING = 0.1;

const REPORT_EVERY_MS = 3_000;

/** How long a report is used after the last job of a pool. */
const LIFETIME_MS = 3_600_000;

/** Reports the mean run times of the jobs of a worker, by pool, to all gateways: none of them receives the ends of all jobs. */
export interface RunTimes {
  onEvent: CallEventSink;
  close(): Promise<void>;
}

export function createRunTimes(deps: { redis: Redis; keys: RedisKeys; clock: Clock; log: Logger }): RunTimes {
  const { redis, keys, clock, log } = deps;
  const means = new Map<string, number>();
  const changed = new Set<string>();

  async function report(): Promise<void> {
    const pools = [...changed];
    changed.clear();
    await Promise.all(
      pools.map((pool) => redis.set(keys.meanDuration(pool), means.get(pool) ?? 0, 'PX', LIFETIME_MS)),
    ).catch((error: unknown) => log.warn({ err: error }, 'failed to report run times'));
  }

  return {
    onEvent(event) {
      if (event.type !== 'job.ended') return;
      const { pool, durationMs } = event;
      const mean = means.get(pool);
      means.set(pool, mean === undefined ? durationMs : mean + (durationMs - mean) * SMOOTHING);
      changed.add(pool);
      // Gateways know nothing about a pool before its first job has ended.
      if (mean === undefined) void report();
    },
    close: every(clock, REPORT_EVERY_MS, report),
  };
}

/** Returns the mean run time of the jobs of a pool; null if no worker has reported it. */
export async function readMeanDuration(redis: Redis, keys: RedisKeys, pool: string): Promise<number | null> {
  const reported = await redis.get(keys.meanDuration(pool));
  return reported === null ? null : Number(reported);
}
