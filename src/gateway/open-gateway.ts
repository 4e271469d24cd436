import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { createQueueGauges } from '../../jobs/queue-gauges.ts';
import { startReconciling } from '../../jobs/reconcile.ts';
import { createAttempts, SIGN_UPS_PER_HOUR } from '../accounts/attempts.ts';
import type { RequestLimitSettings } from '../api/limits/limits.ts';
import type { McpSettings } from '../api/mcp/index.ts';
import type { WebhookSettings } from '../api/operations/call-webhook.ts';
import type { LinkSettings } from '../api/operations/local/local-answer.ts';
import { createRefusalPace } from '../api/plugins/refusal-pace.ts';
import { REQUEST_LIMITS, type RequestLimits } from '../api/plugins/slow-requests.ts';
import type { AccountLimits } from '../batches/account-limits.ts';
import { demoPayments, manualPayments, type PaymentSettings } from '../billing/payments/payment-port.ts';
import { createStripePayments } from '../billing/payments/stripe.ts';
import type { TrialRule } from '../billing/payments/trials.ts';
import { createSettlements } from '../billing/settlement.ts';
import type { OffPeakWindow } from '../billing/wallets.ts';
import type { Providers } from '../operations/providers.ts';
import type { DatabaseClock } from '../platform/db/database-clock.ts';
import type { Logger } from '../platform/log.ts';
import type { CallEventSink } from '../platform/telemetry/call-events.ts';
import { createTimeLimitMetrics } from '../platform/telemetry/time-limits.ts';
import type { Tracing } from '../platform/telemetry/tracing.ts';
import { apiDepsOf } from './api-deps.ts';
import { buildApp } from './app.ts';
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
  /** The setting SECRET_KEY. */
  secretKeys?: readonly string[] | undefined;
  /** Default: `REQUEST_LIMITS`. */
  requestLimits?: RequestLimits;
}

/** Access of operators. */
export interface OperatorSettings {
  /** The setting ADMIN_TOKEN; without it, /admin does not exist. */
  adminToken?: string | undefined;
  /** The setting METRICS_TOKEN; without it, only programs on the same machine may read the metrics. */
  metricsToken?: string | undefined;
}

/** Settings of the customers' pages. */
export interface PageSettings {
  /** The setting PUBLIC_URL. */
  publicUrl?: string | undefined;
  payments: PaymentSettings;
  /** The setting SIGN_UPS_PER_HOUR. */
  signUpsPerHour?: number;
  /** The setting TRIALS. */
  trials?: TrialRule;
}

const DEFAULT_PAGES: PageSettings = { payments: { way: 'manual', currency: 'usd' } };

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
  const { operator = {}, pages = DEFAULT_PAGES, offPeak, providers, trustProxy } = settings;
  const { adminToken } = operator;
  const registry = new Registry();
  const stores = await openStores(settings, log, createTimeLimitMetrics(registry));
  const stopFollowing = await clock.follow(stores.money, log);
  const { database, pages: pagesDatabase, redis, keys } = stores;
  const observers = createObservers(registry, database, clock, log, onEvent);
  const { events, requestMetrics } = observers;
  const engine = await openJobEngine(stores, clock, log, events);
  const { queues, batchQueue, backlog } = engine;
  const attempts = createAttempts(redis, keys, pages.signUpsPerHour ?? SIGN_UPS_PER_HOUR);
  const queueGauges = createQueueGauges(registry, {
    ...{ redis, keys, queues, batchQueue, backlog, providers, clock, log },
  });
  const { way, currency } = pages.payments;
  const stripe =
    typeof way === 'object' ? createStripePayments(way, { database, now: clock.now, log }) : null;
  const app = buildApp({
    trustProxy,
    requestLimits: settings.requestLimits ?? REQUEST_LIMITS,
    errors: { log, events },
    requestMetrics,
    refusalPace: createRefusalPace(registry, clock, settings.limits.refusalsPerSecond),
    tracing,
    api: apiDepsOf(settings, { ...stores, ...engine, registry, queueGauges, events, tracing, clock, log }),
    queueBoard:
      adminToken === undefined
        ? null
        : {
            ...{ queues, batchQueue, database: pagesDatabase, clock, attempts },
            publicUrl: pages.publicUrl ?? null,
            token: adminToken,
          },
    stripe,
    site: {
      ...{ database: pagesDatabase, redis, keys, attempts, clock, log, events, queueGauges },
      ...{ offPeak, providers, currency, publicUrl: pages.publicUrl, adminToken },
      trials: pages.trials ?? 'manual',
      payments: stripe ?? (way === 'demo' ? demoPayments : manualPayments),
    },
  });
  const stopReconciling = startReconciling({
    ...{ database: stores.database, redis, keys, queues, events, clock, log },
    // On connections and in batches of its own, so that requests do not wait for it.
    settlements: createSettlements(stores.database, clock.now),
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
