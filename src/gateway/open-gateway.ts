import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { createQueueGauges } from '../../jobs/queue-gauges.ts';
import { startReconciling } from '../../jobs/reconcile.ts';
import type { RequestLimitSettings } from '../api/limits/limits.ts';
import type { McpSettings } from '../api/mcp/index.ts';
import type { WebhookSettings } from '../api/operations/call-webhook.ts';
import type { LinkSettings } from '../api/operations/local/local-answer.ts';
import type { RequestLimits } from '../api/plugins/slow-requests.ts';
import type { AccountLimits } from '../batches/account-limits.ts';
import type { PaymentSettings } from '../billing/payments/payment-port.ts';
import type { TrialRule } from '../billing/payments/trials.ts';
import { createSettlements } from '../billing/settlement.ts';
import { setTestUnits } from '../billing/test-wallet.ts';
import type { OffPeakWindow } from '../billing/wallets.ts';
import type { MailSettings } from '../mail/mail-settings.ts';
import type { Providers } from '../operations/providers.ts';
import type { DatabaseClock } from '../platform/db/database-clock.ts';
import type { Logger } from '../platform/log.ts';
import { createCacheFailures } from '../platform/telemetry/cache-failures.ts';
import type { CallEventSink } from '../platform/telemetry/call-events.ts';
import { createCompletionMetrics } from '../platform/telemetry/completion-metrics.ts';
import { createTimeLimitMetrics } from '../platform/telemetry/time-limits.ts';
import type { Tracing } from '../platform/telemetry/tracing.ts';
import { buildApp } from './app.ts';
import { appDepsOf } from './app-deps.ts';
import { openJobEngine } from './job-engine.ts';
import { createObservers } from './observers.ts';
import { openStores, type StoreSettings } from './stores.ts';

export interface GatewaySettings extends StoreSettings {
  offPeak: OffPeakWindow;
  providers: Providers;
  links: LinkSettings;
  webhooks: WebhookSettings;
  limits: RequestLimitSettings;
  /** Default: `ACCOUNT_LIMITS`. */
  accountLimits?: AccountLimits | undefined;
  operator?: OperatorSettings;
  pages?: PageSettings;
  /** The setting TRUST_PROXY. */
  trustProxy?: string | undefined;
  mcp: McpSettings;
  /** The settings TEST_MODE and TEST_UNITS_PER_DAY; without them, test keys are refused. */
  testMode?: { unitsPerDay: number } | null;
  /** The setting SECRET_KEY. */
  secretKeys?: readonly string[] | undefined;
  /** Default: `REQUEST_LIMITS`. */
  requestLimits?: RequestLimits;
  /** The setting QUEUE_SHARDS. Default: 1. */
  queueShards?: number | undefined;
}

/** Access of operators. */
export interface OperatorSettings {
  /** The setting ADMIN_TOKEN; without it, /admin does not exist. */
  adminToken?: string | undefined;
  /** The setting METRICS_TOKEN; without it, only programs on the same machine may read the metrics, or none while TRUST_PROXY or PUBLIC_URL is set. */
  metricsToken?: string | undefined;
}

/** Settings of the customers' pages. */
export interface PageSettings {
  /** The setting PUBLIC_URL. */
  publicUrl?: string | undefined;
  payments: PaymentSettings;
  /** The setting UPSTREAM_TOKEN_PRICE. */
  tokenPrice?: number | undefined;
  /** The setting SIGN_UPS_PER_HOUR. */
  signUpsPerHour?: number;
  /** The setting TRIALS. */
  trials?: TrialRule;
  /** Whether this gateway serves the pictures of the demo provider; default: browsers load pictures from the image host. */
  hasDemoPictures?: boolean;
  /** Default: the pages offer nothing that needs mails. */
  mail?: MailSettings | null;
}

export interface RunningGateway {
  app: FastifyInstance;
  /** The metrics of this gateway. */
  registry: Registry;
  /** Samples the queues now, instead of at the next second. */
  sampleBacklog(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects a gateway to its stores; it does not listen yet.
 * @param onEvent receives each call event of this gateway, in addition to the other sinks. Tests wait for these
 * events.
 * @throws if a store cannot be reached.
 */
export async function openGateway(
  settings: GatewaySettings,
  clock: DatabaseClock,
  log: Logger,
  tracing: Tracing | null = null,
  onEvent: CallEventSink = () => {},
): Promise<RunningGateway> {
  const registry = new Registry();
  const stores = await openStores(settings, log, {
    ...createTimeLimitMetrics(registry),
    cache: createCacheFailures(registry),
  });
  const stopFollowing = await clock.follow(stores.money, log);
  if (settings.testMode) await setTestUnits(stores.money, settings.testMode.unitsPerDay);
  const observers = createObservers(registry, stores.database, clock, log, onEvent);
  const { events } = observers;
  const onReceived = createCompletionMetrics(registry);
  const engine = await openJobEngine(stores, clock, log, events, onReceived, settings.queueShards);
  const { queues, batchQueue, backlog } = engine;
  const { redis, keys, database } = stores;
  const queueGauges = createQueueGauges(registry, {
    ...{ redis, keys, queues, batchQueue, backlog, providers: settings.providers, clock, log },
  });
  const parts = { ...stores, ...engine, ...observers, registry, queueGauges, tracing, clock, log };
  const app = buildApp(appDepsOf(settings, parts));
  const stopReconciling = startReconciling({
    ...{ database, redis, keys, queues, events, clock, log },
    // On connections and in batches of its own, so that requests do not wait for it.
    settlements: createSettlements(database, clock.now),
  });
  return {
    app,
    registry,
    sampleBacklog: backlog.sample,
    async close() {
      // Requests under way are answered first; those that wait for jobs get a 202.
      await engine.stopWaiting();
      await app.close();
      await stopReconciling();
      await observers.close();
      await engine.close();
      await stopFollowing();
      await stores.close();
    },
  };
}
