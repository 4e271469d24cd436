import type { Redis } from 'ioredis';
import type { BatchQueue } from '../../../jobs/batch-queue.ts';
import type { RedisKeys } from '../../platform/redis-keys.ts';
import type { Schedule } from './schedule.ts';

/** Makes the queue wake a worker whenever a schedule is due; one that is paused wakes nobody. */
export async function setScheduler(
  queue: BatchQueue,
  { scheduleId, cron, timezone, paused }: Schedule,
): Promise<void> {
  if (paused) {
    await removeScheduler(queue, scheduleId);
    return;
  }
  const job = { name: 'tick', data: { kind: 'tick', scheduleId } } as const;
  await queue.upsertJobScheduler(scheduleId, { pattern: cron, tz: timezone }, job);
}

export async function removeScheduler(queue: BatchQueue, scheduleId: string): Promise<void> {
  await queue.removeJobScheduler(scheduleId);
}

/** Only one process at a time sets what is missing. */
const LOCK_MS = 30_000;

/**
 * Brings the queue's schedulers to what PostgreSQL says: Redis may have lost them, or a process may have died between the
 * two. @returns false when another process is at it.
 */
export async function reconcileSchedulers(
  deps: { queue: BatchQueue; redis: Redis; keys: RedisKeys },
  activeSchedules: () => Promise<readonly Schedule[]>,
): Promise<boolean> {
  const { queue, redis, keys } = deps;
  const locked = await redis.set(keys.schedulersLock, 1, 'PX', LOCK_MS, 'NX');
  if (!locked) return false;
  const present = new Map(
    (await queue.getJobSchedulers(0, -1)).map((scheduler) => [scheduler.key, scheduler]),
  );
  // Read after the queue's: one that is made in between is then no orphan.
  for (const schedule of await activeSchedules()) {
    const scheduler = present.get(schedule.scheduleId);
    present.delete(schedule.scheduleId);
    if (scheduler?.pattern !== schedule.cron || scheduler.tz !== schedule.timezone)
      await setScheduler(queue, schedule);
  }
  for (const scheduleId of present.keys()) await removeScheduler(queue, scheduleId);
  await redis.del(keys.schedulersLock);
  return true;
}
