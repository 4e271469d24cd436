import { randomUUID } from 'node:crypto';
import type { Registry } from 'prom-client';
import { createFairness } from '../../jobs/fairness.ts';
import { createBatchNotifier } from '../../src/batches/notify-webhook.ts';
import { createAdmissions } from '../../src/billing/admission.ts';
import type { StripeSettings } from '../../src/billing/payments/payment-port.ts';
import type { OffPeakWindow } from '../../src/billing/wallets.ts';
import type { MailSettings } from '../../src/mail/mail-settings.ts';
import { queuePaymentFailed } from '../../src/mail/payment-failed.ts';
import { BATCH_POOL } from '../../src/operations/pools.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { createSecretBox } from '../../src/platform/secret-box.ts';
import { createCompletionMetrics } from '../../src/platform/telemetry/completion-metrics.ts';
import { WEBHOOK_LIMITS } from '../../src/webhooks/webhook-limits.ts';
import { startHeartbeat } from '../heartbeat.ts';
import { type BatchWorkerDeps, openBatchWorker } from './batch-worker.ts';
import { startDeliveries } from './deliveries.ts';
import { startMails } from './mails.ts';
import { startPayments } from './payments.ts';
import type { PrepareDeps } from './prepare.ts';
import { openReportFetches, type ReportFetchSettings } from './report-fetches.ts';

export interface BackgroundSettings {
  databaseUrl: string;
  offPeak: OffPeakWindow;
  webhooks: PrepareDeps['webhooks'];
  accountLimits?: PrepareDeps['accountLimits'];
  /** The setting SECRET_KEY. */
  secretKeys?: readonly string[] | undefined;
  /** Settings for fetching weekly reports; absent: no reports are fetched. */
  reportFetches?: ReportFetchSettings | undefined;
  /** Default: no mails are sent. */
  mail?: MailSettings | null | undefined;
  /** Absent: customers do not pay through Stripe. */
  stripe?: StripeSettings | undefined;
}

/** Opens the pool `batch`: batches and schedules, webhook deliveries, mails, payments through Stripe, and fetching weekly reports. */
export async function openBackground(
  settings: BackgroundSettings,
  deps: Omit<
    BatchWorkerDeps,
    | 'offPeak'
    | 'webhooks'
    | 'accountLimits'
    | 'admissions'
    | 'backlog'
    | 'fairness'
    | 'onFinished'
    | 'onCompletionReceived'
  > & {
    /** For admissions. */
    money: Database;
    registry: Registry;
  },
): Promise<{ close(): Promise<void> }> {
  const { databaseUrl, offPeak, webhooks, accountLimits, secretKeys, reportFetches, mail, stripe } = settings;
  const { database, money, registry, providers, clock, log } = deps;
  const batches = await openBatchWorker({
    ...deps,
    offPeak,
    webhooks,
    accountLimits,
    admissions: createAdmissions(money, clock.now, offPeak),
    // Batches are fed only if there is room, so their calls are never refused because of the queue.
    backlog: { estimateWaitMs: async () => 0 },
    fairness: createFairness(clock.now),
    onFinished: createBatchNotifier(clock),
    onCompletionReceived: createCompletionMetrics(registry),
  });
  const secretBox = createSecretBox(secretKeys);
  const { allowPrivate, limits: { hostsPerAccount } = WEBHOOK_LIMITS } = webhooks;
  const deliveries = startDeliveries({ database, clock, log, allowPrivate, hostsPerAccount, secretBox });
  const mails = startMails({ database, clock, log, secretBox, registry, settings: mail ?? null });
  const stopPayments = stripe && startPayments(stripe, { database, clock, log, notify: queuePaymentFailed });
  const fetching = { databaseUrl, providers, clock, log };
  const fetches = reportFetches && (await openReportFetches(reportFetches, fetching));
  const heartbeat = await startHeartbeat(deps, BATCH_POOL, randomUUID());
  return {
    async close() {
      await heartbeat.close();
      await batches.close();
      await deliveries.close();
      await mails.close();
      await stopPayments?.();
      await fetches?.close();
    },
  };
}
