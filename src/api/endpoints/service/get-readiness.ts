import type { JsonSchema } from '../../../operations/params/documentation.ts';
import type { Clock, ServiceClock } from '../../../platform/clock.ts';
import { clockFault, isClockRight } from '../../../platform/db/database-clock.ts';
import type { Database } from '../../../platform/db/pool.ts';
import type { Redis } from '../../../platform/redis.ts';
import type { Cache } from '../../../results/cache.ts';
import { publicEndpoint } from '../endpoint.ts';
import { bareAnswer, statusSchema } from './get-health.ts';

/** A store that has not answered within this time counts as missing, because it would not answer requests in time either. */
const STORE_TIMEOUT_MS = 1_500;

/** Requests receive the result of a check that ended at most this long ago, so that many requests cost no more than one a second. */
const LONGEST_MS = 1_000;

/** Which stores answer. */
interface Reachable {
  hasDatabase: boolean;
  hasRedis: boolean;
  hasCache: boolean;
}

/** Checks the stores, or returns the result of a check that is under way or at most a second old. */
export type Readiness = () => Promise<Reachable>;

interface ReadinessDeps {
  readiness: Readiness;
  clock: ServiceClock;
}

const ready = statusSchema('ready', {
  degraded: {
    type: 'array',
    items: { type: 'string', enum: ['cache'] },
    description:
      'Stores that cannot be reached and that calls can do without. `cache`: the Redis of cached data, so that all data is fetched',
  },
});

const notReady: JsonSchema = {
  type: 'object',
  properties: {
    status: { type: 'string', const: 'not ready' },
    missing: {
      type: 'array',
      items: { type: 'string', enum: ['postgresql', 'redis'] },
      description: 'Stores that cannot be reached',
    },
    clockAheadSeconds: {
      type: 'number',
      description:
        "By how much the clock of the machine is ahead of PostgreSQL's, if it differs by more than 5 s",
    },
  },
  required: ['status', 'missing'],
};

export const getReadiness = publicEndpoint({
  tag: 'service',
  method: 'get',
  path: '/readyz',
  summary:
    "Returns 200 if the process can reach PostgreSQL and Redis, and its clock agrees with PostgreSQL's; 503 otherwise.",
  answers: {
    200: bareAnswer('The process is ready', ready),
    503: bareAnswer('A store cannot be reached, or the clock is wrong', notReady),
  },
  errors: ['METHOD_NOT_ALLOWED'],

  async handle({ readiness, clock }: ReadinessDeps, _request, reply) {
    const { hasDatabase, hasRedis, hasCache } = await readiness();
    const missing = [...(hasDatabase ? [] : ['postgresql']), ...(hasRedis ? [] : ['redis'])];
    if (missing.length === 0 && isClockRight(clock))
      return { status: 'ready', ...(hasCache ? {} : { degraded: ['cache'] }) };
    return reply.code(503).send({ status: 'not ready', missing, ...clockFault(clock) });
  },
});

/** @param database must serve nothing else, so that neither delays the other. */
export function createReadiness({
  database,
  redis,
  cache,
  clock,
}: {
  database: Database;
  redis: Redis;
  cache: Cache;
  clock: Clock;
}): Readiness {
  let last: Promise<Reachable> | null = null;
  let endedAt: number | null = null;

  async function check(): Promise<Reachable> {
    endedAt = null;
    const [hasDatabase, hasRedis, hasCache] = await Promise.all([
      answersInTime(clock, database.query('select 1')),
      answersInTime(clock, redis.ping()),
      !cache.isOwn || answersInTime(clock, cache.redis.ping()),
    ]);
    endedAt = performance.now();
    return { hasDatabase, hasRedis, hasCache };
  }

  return () => {
    if (last === null || (endedAt !== null && performance.now() - endedAt > LONGEST_MS)) last = check();
    return last;
  };
}

async function answersInTime(clock: Clock, answer: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.after(STORE_TIMEOUT_MS, () => resolve(false), 'store ping');
    void answer
      .then(() => true)
      .catch(() => false)
      .then(resolve)
      .finally(cancel);
  });
}
