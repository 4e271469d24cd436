import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { knowsEveryProduct } from './answers.ts';
import { openSouk, type Souk } from './souk.ts';

/** The service that the files of a process use one after the other. See test/README.md. */
export interface SharedSouk {
  /** Returns the service as if it were new: nothing is cached, recorded or scripted. */
  take(): Promise<Souk>;
  /** Notes that a test has failed: the next file gets another service. */
  broken(): void;
  /** Keeps the service for the next file if the tests have left it as it was, and closes it otherwise. */
  giveBack(): Promise<void>;
  close(): Promise<void>;
}

/** The stores of the run are stopped at the same time as its last processes, and without Redis a worker closes only after its limit. */
const CLOSE_LIMIT_MS = 2_000;

export function createSharedSouk(): SharedSouk {
  let souk: Souk | null = null;
  let openedAt = 0;
  let isBroken = false;

  async function close(): Promise<void> {
    const closing = souk;
    souk = null;
    await closing?.close();
  }

  return {
    async take() {
      if (souk) await forget(souk);
      else souk = await openSouk();
      openedAt = souk.clock.now();
      isBroken = false;
      return souk;
    },
    broken() {
      isBroken = true;
    },
    async giveBack() {
      if (!souk) return;
      const isSame = souk.clock.now() === openedAt && souk.gateways.length === 1 && souk.workers.length === 1;
      // The keys of a cluster are on several servers.
      const canForget = !souk.redisUrl.startsWith('redis+cluster:');
      if (isBroken || !isSame || !canForget || !(await isIdle(souk))) await close();
    },
    close: () => Promise.race([close(), pause(CLOSE_LIMIT_MS, undefined, { ref: false })]),
  };
}

/** Returns whether no work is left that could reach the upstream, or a receiver, during the next file. */
async function isIdle({ database }: Souk): Promise<boolean> {
  const { rowCount } = await database.query(
    `select 1 where exists (select from calls where state = 'reserved')
       or exists (select from batches where finished_at is null)
       or exists (select from schedules)
       or exists (select from outbox where state = 'pending')`,
  );
  return rowCount === 0;
}

/** Deletes what earlier files have recorded and cached. Queues and the reports of workers stay. */
async function forget(souk: Souk): Promise<void> {
  const { namespace, workers } = redisKeys(souk.redisNamespace);
  const kept = workers('').replace(/\{.*/, '');
  const redis = new Redis(souk.redisUrl);
  try {
    const keys = await redis.keys(`${namespace}:*`);
    const deleted = keys.filter((key) => !key.startsWith(kept) && key !== `${namespace}:queues`);
    if (deleted.length > 0) await redis.del(...deleted);
  } finally {
    redis.disconnect();
  }
  souk.logLines.length = 0;
  souk.events.forget();
  souk.upstream.forget();
  souk.upstream.on('product', knowsEveryProduct);
}
