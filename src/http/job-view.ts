import type { Queues } from '../../jobs/queues.ts';
import type { Call } from '../billing/calls.ts';
import { ERRORS } from '../errors.ts';

/** How soon a caller should look again for a job that is not done, in seconds. */
export const PENDING_RETRY_SECONDS = 1;

export type JobState = 'queued' | 'running' | 'done' | 'failed';

/** A job as its account sees it. Times are ISO 8601. */
export interface JobView {
  jobId: string;
  operation: string;
  state: JobState;
  unitsReserved: number;
  unitsCharged: number;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  deadlineAt: string;
  attempts: number;
  error: { code: string; msg: string } | null;
  links: ReturnType<typeof jobLinks>;
}

export function jobLinks(callId: string) {
  return { self: `/api/jobs/${callId}`, result: `/api/jobs/${callId}/result` };
}

/** What is known of a call as a job; for one that has not ended, its queue is asked. */
export async function jobView(call: Call, queues: Queues): Promise<JobView> {
  const { startedAt, attempts, state } =
    call.state === 'reserved' ? await progressOf(call, queues) : ended(call);
  return {
    jobId: call.callId,
    operation: call.operation,
    state,
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
  startedAt: number | null;
  attempts: number;
}

async function progressOf({ pool, callId }: Call, queues: Queues): Promise<Progress> {
  const job = await queues[pool].getJob(callId);
  const isRunning = job !== undefined && (await job.isActive());
  return {
    state: isRunning ? 'running' : 'queued',
    startedAt: job?.processedOn ?? null,
    attempts: job?.attemptsStarted ?? 0,
  };
}

function ended({ state, startedAt, attempts }: Call): Progress {
  return { state: state === 'settled' ? 'done' : 'failed', startedAt, attempts };
}

function iso(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
