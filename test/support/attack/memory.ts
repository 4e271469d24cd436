import { Redis } from 'ioredis';
import { run } from '../../../src/platform/embedded/binaries.ts';

export interface MemoryWatch {
  /** By how much the memory has grown at most, in MiB. */
  stop(): Promise<{ gatewayMib: number; redisMib: number }>;
}

const EVERY_MS = 500;
const MIB = 1_048_576;

/** Watches the memory of a gateway and of Redis. A Redis that is stopped is not asked again until it answers. */
export async function watchMemory(gatewayPid: number, redisUrl: string): Promise<MemoryWatch> {
  const redis = new Redis(redisUrl);
  redis.on('error', () => {});
  const gatewayBytes = async () =>
    Number(
      (await run('ps', ['-o', 'rss=', '-p', String(gatewayPid)]).catch(() => ({ stdout: '0' }))).stdout,
    ) * 1_024;
  const redisBytes = async () => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  const before = { gateway: await gatewayBytes(), redis: await redisBytes() };
  const most = { ...before };
  const watch = (name: keyof typeof most, read: () => Promise<number>) => {
    let isReading = false;
    return setInterval(() => {
      if (isReading) return;
      isReading = true;
      read()
        .then((bytes) => {
          most[name] = Math.max(most[name], bytes);
          isReading = false;
        })
        .catch(() => {});
    }, EVERY_MS);
  };
  const timers = [watch('gateway', gatewayBytes), watch('redis', redisBytes)];
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer);
      redis.disconnect();
      const growth = (name: keyof typeof most) => Math.round((most[name] - before[name]) / MIB);
      return { gatewayMib: growth('gateway'), redisMib: growth('redis') };
    },
  };
}
