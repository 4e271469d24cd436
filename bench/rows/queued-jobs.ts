import { Worker } from 'bullmq';
import { range } from 'd3-array';
import { v7 as uuid } from 'uuid';
import type { Payload } from '../../jobs/payload.ts';
import { addJob, openQueues, type PoolQueue, type Queues } from '../../jobs/queues.ts';
import { POOLS } from '../../src/operations/pools.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { createLogger } from '../../src/platform/log.ts';
import { closeRedis, connectRedis, type Redis } from '../../src/platform/redis.ts';
import { type RedisKeys, redisKeys } from '../../src/platform/redis-keys.ts';
import { openPoolWorker } from '../../workers/pool.ts';
import { watchMachine } from '../machine.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';

const JOBS = Number(process.env.BENCH_JOBS ?? 100_000);
const ACCOUNTS = 100;
const POOL = 'market';

/** Jobs that are added at the same time. */
const SENDERS = 100;

/** A phase that takes longer ends early. */
const LONGEST_MS = 150_000;

interface Phases {
  queued: number;
  queuedPerSecond: number;
  bytesAJob: number;
  worked: number;
  workedPerSecond: number;
}

/**
 * Measures how long 100,000 jobs take to be queued and to be taken from their queues by one process, and what they take in Redis:
 * with one queue a pool, with three, and with BullMQ alone. The jobs themselves do nothing. BENCH_JOBS changes their number.
 */
export async function queuedJobsRows(services: Services): Promise<Row[]> {
  const machine = await watchMachine(services.processes);
  const bare = await phases(services, 1, workedBare);
  const rows: Row[] = [];
  for (const shards of [1, 3]) {
    const ours = await phases(services, shards, workedByPool);
    rows.push({
      what: `${JOBS.toLocaleString('en')} jobs of ${ACCOUNTS} accounts in ${shards} queues a pool: to work them / with a worker of BullMQ and one queue`,
      ours: inWords(ours),
      baseline: inWords(bare),
      ratio: ours.workedPerSecond / bare.workedPerSecond,
      aim: 'at least 0.9',
      failures: 2 * JOBS - ours.worked - bare.worked,
    });
  }
  const busy = await machine();
  return rows.map((row) => ({ ...row, busy }));
}

function inWords({ queued, queuedPerSecond, bytesAJob, workedPerSecond }: Phases): string {
  const mebibytes = (bytesAJob * queued) / 2 ** 20;
  return (
    `queued ${queuedPerSecond.toFixed(0)}/s, worked ${workedPerSecond.toFixed(0)}/s; ` +
    `${bytesAJob.toFixed(0)} bytes of Redis a job, ${mebibytes.toFixed(0)} MiB`
  );
}

interface Side {
  connection: Redis;
  keys: RedisKeys;
  queues: Queues;
  onWorked(): void;
}

/** Starts workers. @returns what ends them. */
type Work = (side: Side) => Promise<() => Promise<void>>;

async function phases({ redisUrl }: Services, shards: number, work: Work): Promise<Phases> {
  const log = createLogger('warn');
  const connection = await connectRedis(redisUrl, 'pulling', log);
  const keys = redisKeys(`bench-${uuid()}`);
  const queues = openQueues(connection, keys, log, shards);
  await queues.waitUntilReady();
  try {
    const before = await usedBytes(connection);
    const queueing = await timed(() => queueAll(queues));
    const bytesAJob = ((await usedBytes(connection)) - before) / queueing.count;
    const working = await timed(() => workAll(work, { connection, keys, queues }, queueing.count));
    return {
      queued: queueing.count,
      queuedPerSecond: queueing.perSecond,
      bytesAJob,
      worked: working.count,
      workedPerSecond: working.perSecond,
    };
  } finally {
    await Promise.all(queues.all(POOL).map((queue: PoolQueue) => queue.obliterate({ force: true })));
    await queues.close();
    await closeRedis(connection);
  }
}

async function timed(run: () => Promise<number>): Promise<{ count: number; perSecond: number }> {
  const startedAt = performance.now();
  const count = await run();
  return { count, perSecond: (1000 * count) / (performance.now() - startedAt) };
}

async function usedBytes(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
}

async function queueAll(queues: Queues): Promise<number> {
  const endAt = performance.now() + LONGEST_MS;
  let count = 0;
  const sender = async () => {
    while (count < JOBS && performance.now() < endAt) {
      count += 1;
      const nth = Math.ceil(count / ACCOUNTS);
      await addJob(queues, POOL, payload(count), nth <= 4 ? 0 : nth);
    }
  };
  await Promise.all(range(SENDERS).map(sender));
  return count;
}

function payload(n: number): Payload {
  return {
    version: 1,
    callId: uuid(),
    accountId: 1 + (n % ACCOUNTS),
    operation: 'market.product',
    input: { domain: 1, asins: [`B${String(n).padStart(9, '0')}`] },
    unitsReserved: 1,
    unitsPaid: 0,
    deadlineAt: Date.now() + 600_000,
    background: false,
  };
}

async function workAll(work: Work, side: Omit<Side, 'onWorked'>, count: number): Promise<number> {
  let worked = 0;
  let close = async () => {};
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(resolve, LONGEST_MS);
    const onWorked = () => {
      worked += 1;
      if (worked < count) return;
      clearTimeout(late);
      resolve();
    };
    work({ ...side, onWorked }).then((end) => {
      close = end;
    }, reject);
  });
  await close();
  return worked;
}

async function workedByPool({ connection, keys, queues, onWorked }: Side) {
  const worker = await openPoolWorker({
    ...{ pool: POOL, redis: connection, pulling: connection, keys, queues, clock: systemClock },
    log: createLogger('warn'),
    async execute({ data }) {
      onWorked();
      const { callId } = data as Payload;
      return { callId, pool: POOL, state: 'settled', unitsCharged: 1, error: null, durationMs: 1 };
    },
  });
  return () => worker.close();
}

async function workedBare({ connection, keys, onWorked }: Side) {
  const worker = new Worker(POOL, async () => onWorked(), {
    connection,
    prefix: keys.queuePrefix(POOL),
    concurrency: POOLS[POOL].concurrency,
  });
  worker.on('error', (error) => console.error(error));
  await worker.waitUntilReady();
  return () => worker.close();
}
