import { DEDUPLICATION_SECONDS } from '../src/billing/admission.ts';
import type { Call } from '../src/billing/calls.ts';
import type { QueuedOperation } from '../src/operations/define.ts';
import { POOLS, QUEUE_ALLOWANCE_MS } from '../src/operations/pools.ts';
import type { Clock } from '../src/platform/clock.ts';
import { payloadOf, poolOf } from './payload.ts';
import { addJob, type Queues } from './queues.ts';

/** Queues the job of a settled call again to recreate its answer, at no charge. */
export async function enqueueAgain(
  { queues, clock, completionChannel }: { queues: Queues; clock: Clock; completionChannel: string },
  operation: QueuedOperation,
  { callId, accountId, input }: { callId: string; accountId: number; input: unknown },
  background = false,
): Promise<void> {
  const pool = poolOf(accountId, operation, input);
  const unitsReserved = operation.price.quote(input);
  const deadlineAt = clock.now() + POOLS[pool].timeoutMs + QUEUE_ALLOWANCE_MS;
  const call = {
    callId,
    accountId,
    operation: operation.name,
    input,
    unitsReserved,
    unitsPaid: 0,
    deadlineAt,
    background,
  };
  await addJob(queues, pool, payloadOf(call, { completionChannel }));
}

/**
 * Returns whether a lost answer is recreated. For a caller that waited and got its answer, only while an identical
 * call would join this one; for a caller that polls, as long as results are kept.
 */
export function canBeMadeAgain(call: Call, now: number): boolean {
  const { acceptedAt, deadlineAt, pool, background, polled } = call;
  // The deadline of a batch's call is that of its batch, which collects the answer.
  const isAsync = !background && deadlineAt - acceptedAt > POOLS[pool].timeoutMs + QUEUE_ALLOWANCE_MS;
  return polled || isAsync || now - acceptedAt < DEDUPLICATION_SECONDS * 1000;
}
