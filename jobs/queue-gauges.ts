import type { Queue } from 'bullmq';
import { Gauge, type Registry } from 'prom-client';
import { POOL_NAMES, type Providers, WORKER_POOL_NAMES } from '../src/operations/pools.ts';
import type { Logger } from '../src/platform/log.ts';
import type { Stores } from '../src/platform/stores.ts';
import { readAccounts } from '../src/upstream/stored-accounts.ts';
import { type Backlog, countAlive } from './backlog.ts';
import type { PoolQueue, Queues } from './queues.ts';

export type QueueGauges = ReturnType<typeof createQueueGauges>;

export type QueueReading = Awaited<ReturnType<typeof read>>;
export type PoolReading = QueueReading['pools'][number];

interface ReadingDeps extends Pick<Stores, 'database' | 'redis' | 'keys' | 'clock'> {
  queues: Queues;
  batchQueue: Queue;
  backlog: Pick<Backlog, 'estimateWaitMs'>;
  providers: Providers;
}

/** Gauges of the state that all processes share in Redis: queues, workers, tokens. All gateways report the same values. */
export function createQueueGauges(registry: Registry, deps: ReadingDeps & { log: Logger }) {
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const jobs = gauge('souk_queue_jobs', 'Jobs in the queue of a pool: waiting, running, or delayed.', [
    'pool',
    'state',
  ]);
  const expectedWait = gauge(
    'souk_queue_expected_wait_seconds',
    'Expected wait of a job submitted now, which decides whether calls are refused; +Inf without a worker.',
    ['pool'],
  );
  const workers = gauge('souk_workers', 'Live worker processes of a pool.', ['pool']);
  const tokensLeft = gauge('souk_upstream_tokens_left', 'Tokens left at the data provider, by account.', [
    'provider_account',
  ]);
  const tokenRate = gauge(
    'souk_upstream_tokens_per_minute',
    'Tokens that the data provider adds per minute, by account.',
    ['provider_account'],
  );
  const available = gauge(
    'souk_upstream_account_available',
    'Whether calls use an active account: 1, or 0 while it is set aside.',
    ['provider_account'],
  );

  return {
    /** Returns the current values, which pages show. */
    read: () => read(deps),
    /** Reads the values now. A value that cannot be read is omitted. */
    async sample(): Promise<void> {
      const reading = await read(deps).catch((error: unknown) => {
        deps.log.warn({ err: error }, 'failed to read the queues for the metrics');
        return null;
      });
      // All gauges are set in one step, so that a concurrent read never gets both old and new values.
      for (const each of [jobs, expectedWait, workers, tokensLeft, tokenRate, available]) each.reset();
      if (!reading) return;
      for (const { pool, jobs: counts, expectedWaitMs, workers: alive } of reading.pools) {
        for (const [state, count] of Object.entries(counts)) jobs.set({ pool, state }, count);
        workers.set({ pool }, alive);
        if (expectedWaitMs !== null) expectedWait.set({ pool }, expectedWaitMs / 1000);
      }
      for (const { name: provider_account, state, trouble, tokens } of reading.accounts) {
        // Sums over accounts are what calls can use.
        if (state !== 'active') continue;
        available.set({ provider_account }, trouble?.until ? 0 : 1);
        if (!tokens) continue;
        tokensLeft.set({ provider_account }, tokens.left);
        tokenRate.set({ provider_account }, tokens.perMinute);
      }
    },
  };
}

async function read(deps: ReadingDeps) {
  const { redis, keys, queues, batchQueue, backlog, providers, clock } = deps;
  const [counts, alive, waitsMs, accounts] = await Promise.all([
    Promise.all([...POOL_NAMES.map(queues.of), batchQueue].map(countJobs)),
    Promise.all(WORKER_POOL_NAMES.map((pool) => countAlive(redis, keys, pool, clock.now()))),
    Promise.all(POOL_NAMES.map((pool) => backlog.estimateWaitMs(pool, 0))),
    readAccounts(deps, providers.products),
  ]);
  const pools = WORKER_POOL_NAMES.map((pool, i) => ({
    pool,
    jobs: counts[i] ?? { waiting: 0, running: 0, delayed: 0 },
    /** For pools of calls. Infinity if the pool has no worker. */
    expectedWaitMs: waitsMs[i] ?? null,
    workers: alive[i] ?? 0,
  }));
  return { pools, accounts };
}

async function countJobs(queue: PoolQueue | Queue) {
  const counts = await queue.getJobCounts('wait', 'prioritized', 'active', 'delayed');
  const { wait = 0, prioritized = 0, active = 0, delayed = 0 } = counts;
  return { waiting: wait + prioritized, running: active, delayed };
}
