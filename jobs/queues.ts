import { Queue } from 'bullmq';
import { POOL_NAMES, type PoolName, type WorkerPoolName } from '../src/operations/pools.ts';
import type { Logger } from '../src/platform/log.ts';
import { recentlyUsed } from '../src/platform/recently-used.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import type { Payload } from './payload.ts';

export type PoolQueue = Queue<Payload>;

/** Retries are for faults of the infrastructure only. Faults of upstream are handled in the job and end the call. */
const ATTEMPTS = 5;

export type Queues = ReturnType<typeof openQueues>;

/** Opens the queues of all pools. */
export function openQueues(redis: Redis, keys: RedisKeys, log: Logger) {
  const queues = new Map(
    POOL_NAMES.map((pool) => [pool, openQueue<Payload>(redis, keys, log, pool, ATTEMPTS)]),
  );
  const each = async (run: (queue: PoolQueue) => Promise<unknown>) => {
    await Promise.all([...queues.values()].map(run));
  };
  return {
    of(pool: PoolName): PoolQueue {
      const queue = queues.get(pool);
      if (!queue) throw new Error(`no pool ${pool}`);
      return queue;
    },
    waitUntilReady: () => each((queue) => queue.waitUntilReady()),
    close: () => each((queue) => queue.close()),
  };
}

/**
 * Opens a queue for submission. A job is removed when it has ended: PostgreSQL has the state of its call, and the answer store
 * has the answer.
 */
export function openQueue<Data>(
  redis: Redis,
  keys: RedisKeys,
  log: Logger,
  pool: WorkerPoolName,
  attempts: number,
): Queue<Data> {
  const queue = new Queue<Data>(pool, {
    connection: redis,
    prefix: keys.queuePrefix(pool),
    // The event stream has no readers, because the service publishes completion messages on its own channel.
    streams: { events: { maxLen: 100 } },
    defaultJobOptions: {
      attempts,
      backoff: { type: 'exponential', delay: 500, jitter: 0.5 },
      removeOnComplete: true,
      removeOnFail: true,
      // A body has at most 64 KiB; a job adds its own fields.
      sizeLimit: 80 * 1024,
    },
  });
  queue.on('error', (error) => log.warn({ err: error, pool }, 'queue connection error'));
  return queue;
}

const PRIORITY_STEP = 2 ** 32;

/** Counts waiting jobs with a priority above 0 and below `priority`. */
export async function countMoreUrgent(redis: Redis, queue: Queue, priority: number): Promise<number> {
  return redis.zcount(queue.toKey('prioritized'), '-inf', `(${priority * PRIORITY_STEP}`);
}

/** Counts the jobs before a waiting job in its queue; null if the job is not waiting. */
export async function countAhead(redis: Redis, queue: Queue, jobId: string): Promise<number | null> {
  const [first, place, later] = await Promise.all([
    redis.llen(queue.toKey('wait')),
    redis.lpos(queue.toKey('wait'), jobId),
    redis.zrank(queue.toKey('prioritized'), jobId),
  ]);
  // Jobs are taken from the end of the list.
  if (place !== null) return first - 1 - place;
  return later === null ? null : first + later;
}

/** Adds the job of a call to the queue of its pool. A job that is already there does not change. */
export async function addJob(
  queues: Queues,
  pool: PoolName,
  payload: Payload,
  priority?: number,
): Promise<void> {
  const { name, data, opts } = jobOf(payload, priority);
  await queues.of(pool).add(name, data, opts);
}

/** Does the same for several jobs of a pool, in one round trip. */
export async function addJobs(queues: Queues, pool: PoolName, payloads: readonly Payload[]): Promise<void> {
  await queues.of(pool).addBulk(payloads.map((payload) => jobOf(payload)));
}

function jobOf(payload: Payload, priority = payload.background ? BACKGROUND_PRIORITY : 0) {
  const { callId: jobId, operation: name } = payload;
  return { name, data: payload, opts: priority === 0 ? { jobId } : { jobId, priority } };
}

/** The priority of calls of batches, which is the lowest. The order between batches is decided before they are queued. */
export const BACKGROUND_PRIORITY = 1_000_000;

/** The number of an account's calls with priority 0. Further ones are queued behind accounts with fewer calls under way. */
const CALLS_GOING_FIRST = 4;

/** The calls of an account are counted by pool, synchronous and asynchronous ones separately. */
export interface CallGroup {
  pool: PoolName;
  waiting: 'caller' | 'poller';
}

export type Fairness = ReturnType<typeof createFairness>;

const SWEEP_EVERY_CALLS = 1_000;

const KEYS_KNOWN = 10_000;

/**
 * Orders calls between accounts: the more calls an account has under way, the further back its next one is queued. Ten
 * thousand calls of one account delay that account and no other. Each gateway counts the calls that it has queued.
 */
export function createFairness(now: () => number) {
  /** Number of calls under way, by group. */
  const underWay = new Map<string, number>();
  const calls = new Map<string, { group: string; deadlineAt: number }>();
  const accounts = recentlyUsed<string, number>(KEYS_KNOWN);
  let sinceSweep = 0;

  const nameOf = ({ pool, waiting }: CallGroup, accountId: number) => `${pool}/${waiting}/${accountId}`;

  function end(callId: string): void {
    const call = calls.get(callId);
    if (!call) return;
    calls.delete(callId);
    const left = (underWay.get(call.group) ?? 0) - 1;
    if (left > 0) underWay.set(call.group, left);
    else underWay.delete(call.group);
  }

  /** Removes calls after their deadline, because completion messages may be lost. */
  function sweep(): void {
    sinceSweep = 0;
    for (const [callId, { deadlineAt }] of calls) if (deadlineAt < now()) end(callId);
  }

  return {
    /**
     * Counts a call that is being queued and returns its priority: 0 goes first, higher numbers later.
     * @param call.key names the API key of the request.
     */
    take(call: CallGroup & { accountId: number; key: string; callId: string; deadlineAt: number }): number {
      const { accountId, key, callId, deadlineAt } = call;
      sinceSweep += 1;
      if (sinceSweep > SWEEP_EVERY_CALLS) sweep();
      end(callId);
      accounts.set(key, accountId);
      const group = nameOf(call, accountId);
      const nth = (underWay.get(group) ?? 0) + 1;
      underWay.set(group, nth);
      calls.set(callId, { group, deadlineAt });
      return priorityOf(nth);
    },
    /** Returns the priority that `take` would return, without counting a call; 0 for a key without an earlier call. */
    peek({ key, ...place }: CallGroup & { key: string }): number {
      const accountId = accounts.get(key);
      return accountId === undefined ? 0 : priorityOf((underWay.get(nameOf(place, accountId)) ?? 0) + 1);
    },
    /** Removes a call that has ended. */
    end,
  };
}

/** @param nth the number of calls of its group under way, including this one. */
function priorityOf(nth: number): number {
  return nth <= CALLS_GOING_FIRST ? 0 : Math.min(nth, BACKGROUND_PRIORITY - 1);
}
