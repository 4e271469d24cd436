import { DEDUPLICATION_SECONDS } from '../src/billing/admission.ts';
import type { Call } from '../src/billing/calls.ts';
import type { QueuedOperation } from '../src/operations/define.ts';
import { POOLS, QUEUE_ALLOWANCE_MS } from '../src/operations/pools.ts';
import { payloadOf } from './payload.ts';
import { addJob } from './queues.ts';
import type { SubmitDeps } from './submit.ts';

/** Makes the answer of a call that is settled already once more; nothing is charged for it. */
export async function enqueueAgain(
  { queues, clock }: Pick<SubmitDeps, 'queues' | 'clock'>,
  operation: QueuedOperation,
  { callId, accountId, input }: { callId: string; accountId: number; input: unknown },
  background = false,
): Promise<void> {
  const pool = operation.queue(input);
  const unitsReserved = operation.price.quote(input);
  const deadlineAt = clock.now() + POOLS[pool].timeoutMs + QUEUE_ALLOWANCE_MS;
  const call = { callId, accountId, operation: operation.name, input, unitsReserved, deadlineAt, background };
  await addJob(queues, pool, payloadOf(call));
}

/**
 * Whether a lost answer is made again for its owner. The answer to a caller who waited was delivered; it is owed again
 * only for as long as the same call would join it. A caller who polls is owed it for as long as results are kept.
 */
export function canBeMadeAgain({ acceptedAt, deadlineAt, pool }: Call, now: number): boolean {
  const polled = deadlineAt - acceptedAt > POOLS[pool].timeoutMs + QUEUE_ALLOWANCE_MS;
  return polled || now - acceptedAt < DEDUPLICATION_SECONDS * 1000;
}
