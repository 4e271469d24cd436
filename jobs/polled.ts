import { DEDUPLICATION_SECONDS } from '../src/billing/admission.ts';
import { notePolled } from '../src/billing/calls.ts';
import { type ServiceClock, sleep } from '../src/platform/clock.ts';
import type { Database } from '../src/platform/db/pool.ts';
import type { Logger } from '../src/platform/log.ts';
import type { AnswerStore } from '../src/results/answer-store.ts';

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
