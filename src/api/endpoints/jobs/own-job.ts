import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { CompletionMap } from '../../../../jobs/wait.ts';
import { type Call, findCall } from '../../../billing/calls.ts';
import { fromDigits, problem } from '../../../operations/params/scalars.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { SoukError } from '../../../platform/errors.ts';
import { POLL_LIFETIME_MS } from '../../../results/answer-store.ts';
import { ACCEPTED, sendEnvelope } from '../../envelope.ts';
import { type JobViewDeps, jobView, PENDING_RETRY_SECONDS } from '../../job-view.ts';
import type { Account } from '../../plugins/authentication.ts';
import { requireUse } from '../../scopes.ts';

/** Dependencies for reading an account's jobs. Jobs of other accounts, and jobs older than stored results, are not found. */
export interface OwnJobDeps {
  database: Database;
  clock: Clock;
}

export const jobId = { of: 'the job', unknown: 'JOB_NOT_FOUND' } as const;

/** Returns a job of the account that its key may use. @throws SoukError JOB_NOT_FOUND or KEY_SCOPE_MISSING. */
export async function ownJob(
  { database, clock }: OwnJobDeps,
  account: Account,
  id: string,
  use: 'read' | 'change' = 'read',
): Promise<Call> {
  const call = await findCall(database, account.accountId, id);
  if (!call || clock.now() - call.acceptedAt > POLL_LIFETIME_MS) throw new SoukError('JOB_NOT_FOUND');
  requireUse(account, call.operation, use);
  return call;
}

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
  if (call.state === 'reserved') reply.header('retry-after', PENDING_RETRY_SECONDS);
  const facts = { unitsConsumed: 0, jobId: call.callId };
  const envelope = status === 202 ? ACCEPTED : {};
  return sendEnvelope(reply, status, await jobView(deps, call), { ...envelope, facts });
}
