import { z } from 'zod';
import type { Backlog } from '../../jobs/backlog.ts';
import { countAhead, type Queues } from '../../jobs/queues.ts';
import type { Call } from '../billing/calls.ts';
import { SCHEMA_NAMES } from '../operations/answers/schema-names.ts';
import { ERRORS } from '../platform/errors.ts';
import type { Redis } from '../platform/redis.ts';

/** The header Retry-After for a job that has not ended, in seconds. */
export const PENDING_RETRY_SECONDS = 1;

export const JOB_STATES = ['queued', 'running', 'done', 'failed', 'cancelled'] as const;

export type JobState = (typeof JOB_STATES)[number];

const links = z.object({ self: z.string(), result: z.string(), events: z.string() });

const moment = z.iso.datetime();

/** A job as its account sees it. Times are ISO 8601. */
export const jobSchema = z
  .object({
    jobId: z.uuid(),
    operation: z.string(),
    state: z.enum(JOB_STATES),
    progress: z
      .number()
      .min(0)
      .max(100)
      .describe(
        'Percentage of the data that has been fetched; stays 0 while a single fetch runs, and if nothing was fetched',
      ),
    position: z
      .int()
      .nullable()
      .describe('Number of jobs ahead of this one in its queue; null once it is running'),
    etaMs: z
      .int()
      .nullable()
      .describe('Estimated milliseconds until the job ends; null if unknown, 0 if it has ended'),
    unitsReserved: z.int(),
    unitsCharged: z.int(),
    createdAt: moment,
    startedAt: moment.nullable(),
    finishedAt: moment.nullable(),
    deadlineAt: moment,
    attempts: z.int(),
    error: z.object({ code: z.string(), msg: z.string() }).nullable(),
    links,
  })
  .register(SCHEMA_NAMES, { id: 'Job' });

export type JobView = z.output<typeof jobSchema>;

/** Answer of a call that was accepted as a job. */
export const acceptedSchema = z
  .object({ jobId: z.uuid(), operation: z.string(), links })
  .register(SCHEMA_NAMES, { id: 'AcceptedJob' });

export function jobLinks(callId: string) {
  const self = `/api/jobs/${callId}`;
  return { self, result: `${self}/result`, events: `${self}/events` };
}

export interface JobViewDeps {
  redis: Redis;
  queues: Queues;
  backlog: Pick<Backlog, 'estimateWaitBehindMs' | 'meanDurationMs'>;
}

/** Returns a call as a job. The state of a call that has not ended comes from its queue. */
export async function jobView(deps: JobViewDeps, call: Call): Promise<JobView> {
  const { state, progress, position, etaMs, startedAt, attempts } =
    call.state === 'reserved' ? await onItsWay(deps, call) : ended(call);
  return {
    jobId: call.callId,
    operation: call.operation,
    state,
    progress,
    position,
    etaMs,
    unitsReserved: call.unitsReserved,
    unitsCharged: call.unitsCharged,
    createdAt: iso(call.acceptedAt),
    startedAt: startedAt === null ? null : iso(startedAt),
    finishedAt: call.finishedAt === null ? null : iso(call.finishedAt),
    deadlineAt: iso(call.deadlineAt),
    attempts,
    error: call.error && { code: ERRORS[call.error.kind].code, msg: call.error.message },
    links: jobLinks(call.callId),
  };
}

interface Progress {
  state: JobState;
  progress: number;
  position: number | null;
  etaMs: number | null;
  startedAt: number | null;
  attempts: number;
}

async function onItsWay({ redis, queues, backlog }: JobViewDeps, call: Call): Promise<Progress> {
  const { pool, accountId, callId } = call;
  const looks = await Promise.all(
    queues
      .thatMayHold(pool, accountId)
      .map((queue) => Promise.all([queue.getJob(callId), countAhead(redis, queue, callId)])),
  );
  const [job, position] = looks.find(([found]) => found) ?? [undefined, null];
  const startedAt = job?.processedOn ?? null;
  const attempts = job?.attemptsStarted ?? 0;
  const meanMs = backlog.meanDurationMs(pool);
  if (position !== null) {
    const etaMs = meanMs > 0 ? backlog.estimateWaitBehindMs(pool, position, accountId) + meanMs : null;
    return {
      ...{ state: 'queued', progress: 0, position, startedAt, attempts },
      etaMs: etaMs !== null && Number.isFinite(etaMs) ? Math.ceil(etaMs) : null,
    };
  }
  // A job that neither waits nor runs is between the two, or was lost and will be enqueued again.
  const isRunning = job !== undefined && (await job.isActive());
  return {
    state: isRunning ? 'running' : 'queued',
    progress: isRunning && typeof job.progress === 'number' ? job.progress : 0,
    position: null,
    etaMs: isRunning && meanMs > 0 ? Math.ceil(meanMs) : null,
    startedAt,
    attempts,
  };
}

function ended({ state, error, startedAt, attempts }: Call): Progress {
  const finished = { position: null, etaMs: 0, startedAt, attempts };
  if (state === 'settled') return { ...finished, progress: 100, state: 'done' };
  return { ...finished, progress: 0, state: error?.kind === 'CANCELLED' ? 'cancelled' : 'failed' };
}

function iso(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
