import { DEDUPLICATION_SECONDS } from '../src/billing/admission.ts';
import { type Call, notePolled } from '../src/billing/calls.ts';
import type { QueuedOperation } from '../src/operations/define.ts';
import { POOLS, QUEUE_ALLOWANCE_MS } from '../src/operations/pools.ts';
import { type Clock, type ServiceClock, sleep } from '../src/platform/clock.ts';
import type { Database } from '../src/platform/db/pool.ts';
import type { Logger } from '../src/platform/log.ts';
import type { AnswerStore } from '../src/results/answer-store.ts';
import { payloadOf, poolOf } from './payload.ts';
import { addJob, type Queues } from './queues.ts';

interface PolledDeps {
  answers: Pick<AnswerStore, 'keep'>;
  database: Database;
  clock: ServiceClock;
  log: Logger;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Notes in PostgreSQL that the result of a call stays readable as long as that of an asynchronous call, even if Redis
 * loses its data. If PostgreSQL does not answer, the note is written later, in the background: without it, a lost answer
 * is made again only while an identical call would join.
 * @param input the canonical input.
 */
export async function keepForPolling(
  deps: PolledDeps,
  call: { accountId: number; callId: string },
  input: unknown,
): Promise<void> {
  const { answers, database, log } = deps;
  const note = notePolled(database, call, input).catch((error: unknown) => {
    log.warn({ err: error, callId: call.callId }, 'failed to note a polled call');
    void noteLater(deps, call, input);
  });
  const keep = answers
    .keep(call)
    .catch((error: unknown) => log.warn({ err: error, callId: call.callId }, 'failed to keep an answer'));
  await Promise.all([note, keep]);
}

async function noteLater(
  { database, clock, log }: PolledDeps,
  call: { accountId: number; callId: string },
  input: unknown,
): Promise<void> {
  const giveUpAt = clock.now() + DEDUPLICATION_SECONDS * 1000;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    await sleep(clock, pauseMs, undefined, 'polled note');
    try {
      return await notePolled(database, call, input);
    } catch (error) {
      if (clock.now() < giveUpAt) continue;
      log.error({ err: error, callId: call.callId }, 'gave up noting a polled call');
      return;
    }
  }
}

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
