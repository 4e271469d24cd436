import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { openBacklog } from '../../jobs/backlog.ts';
import { openBatchQueue } from '../../jobs/batch-queue.ts';
import { createFairness } from '../../jobs/fairness.ts';
import { createQueueGauges } from '../../jobs/queue-gauges.ts';
import { closeQueues, openQueues } from '../../jobs/queues.ts';
import { openReplies } from '../../jobs/replies.ts';
import { openCompletionMap } from '../../jobs/wait.ts';
import { createAuthentication } from '../accounts/authentication.ts';
import { createWrongKeys } from '../accounts/wrong-keys.ts';
import type {
  LinkSettings,
  McpSettings,
  OperatorSettings,
  PageSettings,
  WebhookSettings,
} from '../api/gateway.ts';
import { createRequestMetrics } from '../api/request-metrics.ts';
import { createBatchNews } from '../batches/news.ts';
import { createAdmissions } from '../billing/admission.ts';
import { createSettlements } from '../billing/settlement.ts';
import type { OffPeakWindow } from '../billing/wallets.ts';
import { createFailureLog } from '../operator/failure-log.ts';
import { createKeyUse } from '../operator/key-use.ts';
import { createUsageStatistics } from '../operator/usage-statistics.ts';
import type { Clock } from '../platform/clock.ts';
import { openDatabase } from '../platform/db/pool.ts';
import type { Logger } from '../platform/log.ts';
import { closeRedis, connectRedis } from '../platform/redis.ts';
import { redisKeys } from '../platform/redis-keys.ts';
import { type CallEventSink, createCallEvents } from '../platform/telemetry/call-events.ts';
import { createCallMetrics } from '../platform/telemetry/call-metrics.ts';
import type { Tracing } from '../platform/telemetry/tracing.ts';
import { createAnswerStore } from '../results/answer-store.ts';
import { buildApp } from './app.ts';

export interface GatewaySettings {
  databaseUrl: string;
  redisUrl: string;
  redisNamespace: string;
  offPeak: OffPeakWindow;
  links: LinkSettings;
  webhooks: WebhookSettings;
  operator?: OperatorSettings;
  pages?: PageSettings;
  /** The setting TRUST_PROXY. */
  trustProxy?: string | undefined;
  mcp: McpSettings;
}

export interface RunningGateway {
  app: FastifyInstance;
  /** Everything this gateway counts. */
  registry: Registry;
  /** Looks at the queues now, instead of at the next second. */
  sampleBacklog(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects a gateway to its stores; it does not listen yet.
 * @param onEvent receives each call event of this gateway, beside metrics and records: a test waits for events with it.
 * @throws when a store cannot be reached.
 */
export async function openGateway(
  settings: GatewaySettings,
  clock: Clock,
  log: Logger,
  tracing: Tracing | null = null,
  onEvent: CallEventSink = () => {},
): Promise<RunningGateway> {
  const registry = new Registry();
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
  const records = [createKeyUse, createUsageStatistics, createFailureLog].map((create) =>
    create(database, clock, log),
  );
  const requestMetrics = createRequestMetrics(registry);
  const events = createCallEvents(log, [
    createCallMetrics(registry),
    requestMetrics.onEvent,
    ...records.map((record) => record.onEvent),
    onEvent,
  ]);
  const completions = await openCompletionMap({ subscriber, keys, database, clock, log, events });
  const { onEnded } = completions;
  const fairness = createFairness(clock.now);
  onEnded(({ callId }) => fairness.end(callId));
  const backlog = await openBacklog({ redis, keys, queues, clock, log, onEnded });
  const app = buildApp({
    database,
    redis,
    keys,
    queues,
    batchQueue,
    replies,
    fairness,
    completions,
    backlog,
    clock,
    log,
    answers: createAnswerStore(redis, keys),
    events,
    admissions: createAdmissions(database, clock.now, settings.offPeak),
    settlements: createSettlements(database, clock.now),
    authentication: createAuthentication(database, clock.now, events),
    wrongKeys: createWrongKeys(clock.now),
    offPeak: settings.offPeak,
    links: settings.links,
    onBatchFinished: createBatchNews(clock),
    webhooks: settings.webhooks,
    tracing,
    registry,
    requestMetrics,
    queueGauges: createQueueGauges(registry, { redis, keys, queues, batchQueue, backlog, clock, log }),
    operator: settings.operator ?? {},
    trustProxy: settings.trustProxy,
    pages: settings.pages ?? { payments: { way: 'manual', currency: 'usd' } },
    mcp: settings.mcp,
  });
  return {
    app,
    registry,
    sampleBacklog: backlog.sample,
    async close() {
      // A connection that is answered only now must not be kept alive: closing would wait for its client to leave.
      app.server.keepAliveTimeout = 1;
      // Requests under way are answered first: those that wait for jobs with a 202.
      await completions.close();
      replies.close();
      await app.close();
      await backlog.close();
      await Promise.all(records.map((record) => record.close()));
      await closeQueues(queues);
      await batchQueue.close();
      await closeRedis(redis, submitting, subscriber);
      await database.end();
    },
  };
}
