import type { Registry } from 'prom-client';
import type { QueueGauges } from '../../../jobs/queue-gauges.ts';
import type { JsonSchema } from '../../operations/params/request.ts';
import type { Clock, ServiceClock } from '../../platform/clock.ts';
import { clockFault, type Database, isClockRight } from '../../platform/db/pool.ts';
import type { Redis } from '../../platform/redis.ts';
import type { Cache } from '../../results/cache.ts';
import { sendVersion, type Version } from '../envelope.ts';
import type { ResponseObject } from '../openapi/schemas.ts';
import { publicEndpoint } from './endpoint.ts';

const getHealth = publicEndpoint({
  tag: 'service',
  method: 'get',
  path: '/healthz',
  summary: 'Returns 200 while the process is running.',
  answers: { 200: bareAnswer('The process is running', statusSchema('ok')) },
  errors: ['METHOD_NOT_ALLOWED'],

  handle: () => ({ status: 'ok' }),
});

/** @param more properties that may be absent. */
function statusSchema(status: string, more: Record<string, JsonSchema> = {}): JsonSchema {
  return {
    type: 'object',
    properties: { status: { type: 'string', const: status }, ...more },
    required: ['status'],
  };
}

/** A JSON answer without the envelope. */
function bareAnswer(description: string, schema: JsonSchema): ResponseObject {
  return { description, content: { 'application/json': { schema } } };
}

/** A store that has not answered within this time counts as missing, because it would not answer requests in time either. */
const STORE_TIMEOUT_MS = 1_500;

/** A request receives the result of the last check if it ended at most this long ago, so that there is at most one check a second. */
const LONGEST_MS = 1_000;

/** Which stores answer. */
interface Reachable {
  hasDatabase: boolean;
  hasRedis: boolean;
  hasCache: boolean;
}

/** Checks the stores, or returns the result of a check that is under way or at most a second old. */
type Readiness = () => Promise<Reachable>;

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

const getReadiness = publicEndpoint({
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

const getOpenApi = publicEndpoint({
  tag: 'service',
  method: 'get',
  path: '/openapi.json',
  summary: 'Returns this document.',
  answers: {
    200: {
      description: 'This document',
      headers: { ETag: { $ref: '#/components/headers/ETag' } },
      content: { 'application/json': { schema: { type: 'object', additionalProperties: true } } },
    },
    304: {
      description: 'The document has not changed since the version in If-None-Match',
      headers: { ETag: { $ref: '#/components/headers/ETag' } },
    },
  },
  errors: ['METHOD_NOT_ALLOWED'],

  handle: ({ document }: { document: Version }, request, reply) => sendVersion(request, reply, document),
});

interface MetricsDeps {
  /** The metrics of this process. */
  registry: Registry;
  queueGauges: Pick<QueueGauges, 'sample'>;
}

export const getMetrics = publicEndpoint({
  isHidden: true,
  tag: 'service',
  method: 'get',
  path: '/metrics',
  summary: 'Returns the metrics of this process, and those that all processes share, for Prometheus.',
  answers: {
    200: { description: 'Metrics', content: { 'text/plain': { schema: { type: 'string' } } } },
  },

  async handle({ registry, queueGauges }: MetricsDeps, _request, reply) {
    await queueGauges.sample();
    reply.header('content-type', registry.contentType).header('cache-control', 'no-store');
    return registry.metrics();
  },
});

/** Endpoints that need no key. */
export const SERVICE_ENDPOINTS = [getOpenApi, getHealth, getReadiness];
