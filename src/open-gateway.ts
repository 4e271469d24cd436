import type { FastifyInstance } from 'fastify';
import { openBacklog } from '../jobs/backlog.ts';
import { openBatchQueue } from '../jobs/batch-queue.ts';
import { closeQueues, openQueues } from '../jobs/queues.ts';
import { openReplies } from '../jobs/replies.ts';
import { createTurns } from '../jobs/turns.ts';
import { openCompletionMap } from '../jobs/wait.ts';
import { createAuthentication } from './accounts/authentication.ts';
import { createWrongKeys } from './accounts/wrong-keys.ts';
import { buildApp } from './app.ts';
import { createBatchNews } from './batches/news.ts';
import { createAdmissions } from './billing/admission.ts';
import { createSettlements } from './billing/settlement.ts';
import type { OffPeakWindow } from './billing/wallets.ts';
import type { Clock } from './clock.ts';
import { openDatabase } from './db/pool.ts';
import type { LinkSettings, WebhookSettings } from './http/gateway.ts';
import type { Logger } from './log.ts';
import { closeRedis, connectRedis } from './redis.ts';
import { redisKeys } from './redis-keys.ts';
import { createAnswerStore } from './results/answer-store.ts';

export interface GatewaySettings {
  databaseUrl: string;
  redisUrl: string;
  redisNamespace: string;
  offPeak: OffPeakWindow;
  links: LinkSettings;
  webhooks: WebhookSettings;
}

export interface RunningGateway {
  app: FastifyInstance;
  /** Looks at the queues now, instead of at the next second. */
  sampleBacklog(): Promise<void>;
  close(): Promise<void>;
}

/** Connects a gateway to its stores; it does not listen yet. @throws when a store cannot be reached. */
export async function openGateway(
  settings: GatewaySettings,
  clock: Clock,
  log: Logger,
): Promise<RunningGateway> {
  const keys = redisKeys(settings.redisNamespace);
  const database = openDatabase(settings.databaseUrl, log);
  const redis = await connectRedis(settings.redisUrl, 'serving', log);
  const subscriber = await connectRedis(settings.redisUrl, 'listening', log);
  const submitting = await connectRedis(settings.redisUrl, 'submitting', log);
  const queues = openQueues(submitting, keys, log);
  await Promise.all(Object.values(queues).map((queue) => queue.waitUntilReady()));
  const batchQueue = openBatchQueue(submitting, keys, log);
  await batchQueue.waitUntilReady();
  const replies = await openReplies({ redis, subscriber, keys, clock });
  const completions = await openCompletionMap({ subscriber, keys, database, clock, log });
  const { onEnded } = completions;
  const turns = createTurns(clock.now);
  onEnded(({ callId }) => turns.end(callId));
  const backlog = await openBacklog({ redis, keys, queues, clock, log, onEnded });
  const app = buildApp({
    database,
    redis,
    keys,
    queues,
    batchQueue,
    replies,
    turns,
    completions,
    backlog,
    clock,
    log,
    answers: createAnswerStore(redis, keys),
    admissions: createAdmissions(database, clock.now, settings.offPeak),
    settlements: createSettlements(database, clock.now),
    authentication: createAuthentication(database, clock.now),
    wrongKeys: createWrongKeys(clock.now),
    offPeak: settings.offPeak,
    links: settings.links,
    onBatchFinished: createBatchNews(clock),
    webhooks: settings.webhooks,
  });
  return {
    app,
    sampleBacklog: backlog.sample,
    async close() {
      // A connection that is answered only now must not be kept alive: closing would wait for its client to leave.
      app.server.keepAliveTimeout = 1;
      // Requests under way are answered first: those that wait for jobs with a 202.
      await completions.close();
      replies.close();
      await app.close();
      await backlog.close();
      await closeQueues(queues);
      await batchQueue.close();
      await closeRedis(redis, submitting, subscriber);
      await database.end();
    },
  };
}
