import { v7 as uuid } from 'uuid';
import { createFairness, openQueues } from '../../jobs/queues.ts';
import { type Submission, type SubmitDeps, submit } from '../../jobs/submit.ts';
import { createAdmissions } from '../../src/billing/admission.ts';
import { createSettlements } from '../../src/billing/settlement.ts';
import { queuedOperation } from '../../src/operations/index.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { createLogger } from '../../src/platform/log.ts';
import { closeRedis, connectRedis } from '../../src/platform/redis.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { createCallEvents } from '../../src/platform/telemetry/call-events.ts';
import { createAnswerStore } from '../../src/results/answer-store.ts';
import { cacheOn } from '../../src/results/cache.ts';
import { OFF_PEAK } from './billing.ts';
import type { Souk, TestAccount } from './souk.ts';
import { PATIENCE } from './time.ts';

/** Submits background calls to a service, as a batch does. */
export interface Background {
  /** Queues a call, by what a customer sends. @returns its id. */
  submit(
    account: TestAccount,
    sent: Record<string, unknown>,
    options?: { operation?: string; patienceMs?: number },
  ): Promise<string>;
  /** Queues a call and returns the outcome. */
  offer(
    account: TestAccount,
    sent: Record<string, unknown>,
    options?: { operation?: string; patienceMs?: number },
  ): Promise<Submission>;
  close(): Promise<void>;
}

const PATIENCE_MS = DAY_MS;

export async function openBackground({
  clock,
  database,
  redisUrl,
  redisNamespace,
  providers,
}: Souk): Promise<Background> {
  const log = createLogger('silent');
  const keys = redisKeys(redisNamespace);
  const redis = await connectRedis(redisUrl, 'serving', log, PATIENCE);
  const submitting = await connectRedis(redisUrl, 'submitting', log, PATIENCE);
  const queues = openQueues(submitting, keys, log);
  const deps: SubmitDeps = {
    database,
    reports: { live: database, test: database },
    providers,
    queues,
    clock,
    events: createCallEvents(log, []),
    log,
    admissions: createAdmissions(database, clock.now, OFF_PEAK, PATIENCE.answerLimitMs),
    settlements: createSettlements(database, clock.now),
    answers: createAnswerStore(redis, keys, cacheOn(redis), () => 2 ** 20),
    backlog: { estimateWaitMs: async () => 0 },
    fairness: createFairness(clock.now),
    completionChannel: 'no process',
  };

  async function offer(
    ...[account, sent, options = {}]: Parameters<Background['offer']>
  ): Promise<Submission> {
    const operation = queuedOperation(options.operation ?? 'market.product');
    if (!operation) throw new Error(`there is no operation ${options.operation}`);
    const waiting = { batchUntil: clock.now() + (options.patienceMs ?? PATIENCE_MS), callId: uuid() };
    const { accountId } = account;
    const input = operation.params.parse(sent);
    const submission = await submit(deps, {
      operation,
      input,
      caller: { accountId },
      maxUnits: null,
      waiting,
    });
    if (submission.kind === 'started') await submission.enqueue();
    return submission;
  }

  return {
    offer,
    submit: async (...order) => (await offer(...order)).callId,
    async close() {
      await queues.close();
      await closeRedis(redis, submitting);
    },
  };
}
