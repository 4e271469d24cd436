import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Backlog } from '../../jobs/backlog.ts';
import { countAhead, type Queues } from '../../jobs/queues.ts';
import type { CompletionMap } from '../../jobs/wait.ts';
import { type Call, findCall } from '../billing/calls.ts';
import { SCHEMA_NAMES } from '../operations/answers.ts';
import { fromDigits, problem } from '../operations/params/scalars.ts';
import { type Clock, iso } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import { ERRORS } from '../platform/errors.ts';
import { stringifyJson } from '../platform/json.ts';
import type { Redis } from '../platform/redis.ts';
import { JOB_LIFETIME_MS } from '../results/cache.ts';
import { ACCEPTED, sendEnvelope } from './envelope.ts';
import { type Account, owned } from './plugins/authentication.ts';

/** The header Retry-After for a job that has not ended, in seconds. */
export const PENDING_RETRY_SECONDS = 1;

export const JOB_STATES = ['queued', 'running', 'done', 'failed', 'cancelled'] as const;

export type JobState = (typeof JOB_STATES)[number];

/** Lists have parameters up to this length. */
const LONGEST_LISTED = 2_000;

const links = z.object({ self: z.string(), result: z.string(), events: z.string() });

const moment = z.iso.datetime();

/** A job as its account sees it. Times are ISO 8601. */
export const jobSchema = z
  .object({
    jobId: z.uuid(),
    operation: z.string(),
    keyId: z.int().nullable().describe('Id of the key that made the call; null for a call of the pages'),
    params: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe(
        `Parameters of the call; null if it was answered from the cache, where they are not stored, and in a list if they are longer than ${LONGEST_LISTED} characters`,
      ),
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
    askedAt: moment.nullable().describe('When the data provider was first asked; null if it was not'),
    answeredAt: moment.nullable().describe('When the last answer of the data provider arrived'),
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
    keyId: call.keyId,
    params: call.input as Record<string, unknown> | null,
    state,
    progress,
    position,
    etaMs,
    unitsReserved: call.unitsReserved,
    unitsCharged: call.unitsCharged,
    createdAt: iso(call.acceptedAt),
    startedAt: isoOf(startedAt),
    askedAt: isoOf(call.askedAt),
    answeredAt: isoOf(call.answeredAt),
    finishedAt: isoOf(call.finishedAt),
    deadlineAt: iso(call.deadlineAt),
    attempts,
    error: call.error && { code: ERRORS[call.error.kind].code, msg: call.error.message },
    links: jobLinks(call.callId),
  };
}

function isoOf(unixMs: number | null): string | null {
  return unixMs === null ? null : iso(unixMs);
}

/** Returns a call as a job of a list. */
export async function listedJob(deps: JobViewDeps, call: Call): Promise<JobView> {
  const job = await jobView(deps, call);
  return stringifyJson(job.params).length <= LONGEST_LISTED ? job : { ...job, params: null };
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
  const { pool, callId } = call;
  const queue = queues.of(pool);
  const [job, position] = await Promise.all([queue.getJob(callId), countAhead(redis, queue, callId)]);
  const startedAt = job?.processedOn ?? null;
  const attempts = job?.attemptsStarted ?? 0;
  const meanMs = backlog.meanDurationMs(pool);
  if (position !== null) {
    const etaMs = meanMs > 0 ? backlog.estimateWaitBehindMs(pool, position) + meanMs : null;
    return {
      state: 'queued',
      progress: 0,
      position,
      startedAt,
      attempts,
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

/** Dependencies for reading an account's jobs. Jobs of other accounts, and older jobs, are not found. */
export interface OwnJobDeps {
  database: Database;
  clock: Clock;
}

export const jobId = { of: 'the job', unknown: 'JOB_NOT_FOUND' } as const;

export const ownJob = owned(jobId.unknown, async ({ database, clock }: OwnJobDeps, accountId, id) => {
  const call = await findCall(database, accountId, id);
  return call && clock.now() - call.acceptedAt <= JOB_LIFETIME_MS ? call : null;
});

/** Maximum of the parameter `wait`, in seconds. */
export const LONGEST_POLL_SECONDS = 60;

const WAIT_FAULT = problem(`must be an integer from 0 to ${LONGEST_POLL_SECONDS}, in seconds`);

export const waitQuery = z.object({
  wait: z
    .preprocess(fromDigits, z.int(WAIT_FAULT).min(0, WAIT_FAULT).max(LONGEST_POLL_SECONDS, WAIT_FAULT))
    .optional()
    .meta({ description: 'Seconds to wait for the job to end', examples: [30] }),
});

/** Returns the job when it has ended, or after `wait` seconds. */
export async function awaitedJob(
  deps: OwnJobDeps & { completions: CompletionMap },
  account: Account,
  id: string,
  wait = 0,
): Promise<Call> {
  const call = await ownJob(deps, account, id);
  if (call.state !== 'reserved' || wait === 0) return call;
  await deps.completions.wait({ accountId: account.accountId, callId: id }, wait * 1000, false);
  return ownJob(deps, account, id);
}

export async function sendJob(
  deps: JobViewDeps,
  reply: FastifyReply,
  call: Call,
  status: 200 | 202 = 200,
): Promise<FastifyReply> {
  if (status === 202 || call.state === 'reserved') reply.header('retry-after', PENDING_RETRY_SECONDS);
  const facts = { unitsConsumed: 0, jobId: call.callId };
  const envelope = status === 202 ? ACCEPTED : {};
  return sendEnvelope(reply, status, await jobView(deps, call), { ...envelope, facts });
}
