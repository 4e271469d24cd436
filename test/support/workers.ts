import { Redis } from 'ioredis';
import type { Souk } from './souk.ts';

/** Stops every worker. Gateways notice it when they sample the queues. */
export async function stopWorkers(souk: Souk): Promise<void> {
  await Promise.all(souk.workers.splice(0).map((worker) => worker.close()));
}

/** Deletes the Redis keys of this service that match a pattern; by default all of them. */
export async function loseRedis(souk: Souk, pattern = `*${souk.redisNamespace}*`): Promise<number> {
  const redis = new Redis(souk.redisUrl);
  try {
    const lost = await redis.keys(pattern);
    if (lost.length > 0) await redis.del(lost);
    return lost.length;
  } finally {
    redis.disconnect();
  }
}

/** How many calls the accounts of this service still wait for. */
export async function openCalls({ database }: Souk): Promise<number> {
  const { rows } = await database.query<{ open: number }>(
    "select count(*)::integer as open from calls where state = 'reserved'",
  );
  return rows[0]?.open ?? 0;
}
