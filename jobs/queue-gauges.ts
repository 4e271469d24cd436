import type { Redis } from 'ioredis';
import { Gauge, type Registry } from 'prom-client';
import {
  POOL_NAMES,
  type PoolName,
  WORKER_POOL_NAMES,
  type WorkerPoolName,
} from '../src/operations/pools.ts';
import type { Clock } from '../src/platform/clock.ts';
import type { Logger } from '../src/platform/log.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import { readTokens } from '../src/upstream/token-bucket.ts';
import { type Backlog, countAlive } from './backlog.ts';
import type { BatchQueue } from './batch-queue.ts';
import type { Queues } from './queues.ts';

/** What all processes share, as Redis has it: queues, workers, tokens. Every gateway shows the same. */
export interface QueueGauges {
  /** Reads it now. What cannot be read is not shown. */
  sample(): Promise<void>;
  /** The same, for pages. */
  read(): Promise<QueueReading>;
}

export interface QueueReading {
  pools: PoolReading[];
  /** null: nothing is known of them. */
  tokens: { left: number; perMinute: number } | null;
}

export interface PoolReading {
  pool: WorkerPoolName;
  jobs: { waiting: number; running: number; delayed: number };
  /** Of the pools that calls go through. Infinity: there is no worker. */
  expectedWaitMs: number | null;
  workers: number | null;
}

export function createQueueGauges(
  registry: Registry,
  deps: {
    redis: Redis;
    keys: RedisKeys;
    queues: Queues;
    batchQueue: BatchQueue;
    backlog: Pick<Backlog, 'estimateWaitMs'>;
    clock: Clock;
    log: Logger;
  },
): QueueGauges {
  const { redis, keys, queues, batchQueue, backlog, clock, log } = deps;
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const jobs = gauge('souk_queue_jobs', 'Jobs in the queue of a pool: waiting, running, or delayed.', [
    'pool',
    'state',
  ]);
  const expectedWait = gauge(
    'souk_queue_expected_wait_seconds',
    'How long a job submitted now would wait, by the estimate that calls are refused by; +Inf without a worker.',
    ['pool'],
  );
  const workers = gauge('souk_workers', 'Worker processes alive in a pool.', ['pool']);
  const tokensLeft = gauge('souk_upstream_tokens_left', 'Tokens the data provider has left for us.', []);
  const tokenRate = gauge(
    'souk_upstream_tokens_per_minute',
    'Tokens the data provider gives us a minute.',
    [],
  );

  async function countJobs(queue: Queues[PoolName] | BatchQueue): Promise<PoolReading['jobs']> {
    const counts = await queue.getJobCounts('wait', 'prioritized', 'active', 'delayed');
    const { wait = 0, prioritized = 0, active = 0, delayed = 0 } = counts;
    return { waiting: wait + prioritized, running: active, delayed };
  }

  async function read(): Promise<QueueReading> {
    const [counts, alive, waitsMs, tokens] = await Promise.all([
      Promise.all([...POOL_NAMES.map((pool) => queues[pool]), batchQueue].map(countJobs)),
      Promise.all(POOL_NAMES.map((pool) => countAlive(redis, keys, pool, clock.now()))),
      Promise.all(POOL_NAMES.map((pool) => backlog.estimateWaitMs(pool, 0))),
      readTokens(redis, keys.tokens('keepa'), clock.now()),
    ]);
    const pools = WORKER_POOL_NAMES.map((pool, i) => ({
      pool,
      jobs: counts[i] ?? { waiting: 0, running: 0, delayed: 0 },
      expectedWaitMs: waitsMs[i] ?? null,
      workers: alive[i] ?? null,
    }));
    return { pools, tokens };
  }

  return {
    read,
    async sample() {
      const reading = await read().catch((error: unknown) => {
        log.warn({ err: error }, 'reading the queues for the metrics failed');
        return null;
      });
      // All at one moment, so that several who ask at once never see half of it.
      for (const each of [jobs, expectedWait, workers]) each.reset();
      for (const each of [tokensLeft, tokenRate]) each.remove();
      if (!reading) return;
      for (const { pool, jobs: counts, expectedWaitMs, workers: alive } of reading.pools) {
        for (const [state, count] of Object.entries(counts)) jobs.set({ pool, state }, count);
        if (alive !== null) workers.set({ pool }, alive);
        if (expectedWaitMs !== null) expectedWait.set({ pool }, expectedWaitMs / 1000);
      }
      if (!reading.tokens) return;
      tokensLeft.set(reading.tokens.left);
      tokenRate.set(reading.tokens.perMinute);
    },
  };
}
