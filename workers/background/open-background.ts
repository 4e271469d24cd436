import { randomUUID } from 'node:crypto';
import type { Registry } from 'prom-client';
import { createFairness } from '../../jobs/queues.ts';
import { sealTwoFactor } from '../../src/accounts/two-factor.ts';
import type { PrepareDeps } from '../../src/batches/create-batch.ts';
import { createBatchNotifier } from '../../src/batches/ending.ts';
import { chatTargets, sealChats } from '../../src/batches/trackers/chat.ts';
import { createAdmissions } from '../../src/billing/admission.ts';
import type { StripeSettings } from '../../src/billing/payments/payment-port.ts';
import { reconcileCheckouts, reconcileReversals } from '../../src/billing/payments/stripe/events.ts';
import { type StripeDeps, stripeContext } from '../../src/billing/payments/stripe/stripe-context.ts';
import { reconcileRenewals } from '../../src/billing/payments/sync-renewal.ts';
import { runTopUps } from '../../src/billing/payments/top-ups.ts';
import type { OffPeakWindow } from '../../src/billing/wallets.ts';
import { BATCH_POOL } from '../../src/operations/pools.ts';
import {
  ALERT_KIND,
  type AlertReceivers,
  alertTargets,
  NO_RECEIVERS,
} from '../../src/operator/alerts/messages.ts';
import { createChatSender } from '../../src/outbox/chat-sender.ts';
import { createMailSender } from '../../src/outbox/mail/mail-sender.ts';
import { type MailSettings, mailWayOf, queuePaymentFailed } from '../../src/outbox/mail/mails.ts';
import type { ClaimedMessage } from '../../src/outbox/queue.ts';
import { sealSecrets } from '../../src/outbox/webhooks/secrets.ts';
import { WEBHOOK_LIMITS } from '../../src/outbox/webhooks/webhook-limits.ts';
import { createWebhookSender } from '../../src/outbox/webhooks/webhook-sender.ts';
import { type Clock, startWorkLoop, type WorkLoop } from '../../src/platform/clock.ts';
import { everyWithLease } from '../../src/platform/db/lease.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/platform/durations.ts';
import type { Logger } from '../../src/platform/log.ts';
import { createSecretBox, type SecretBox } from '../../src/platform/secret-box.ts';
import { createCompletionMetrics } from '../../src/platform/telemetry/call-events.ts';
import { createMailedLink } from '../../src/results/result-links.ts';
import { sealAccountKeys } from '../../src/upstream/stored-accounts.ts';
import { startHeartbeat } from '../pool.ts';
import { type BatchWorkerDeps, openBatchWorker } from './batches.ts';
import { startNotices, startOutbox } from './outbox.ts';
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
  /** Default: no chat messages about alerts are sent. */
  alerts?: AlertReceivers;
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
  const { alerts = NO_RECEIVERS } = settings;
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
    onFinished: createBatchNotifier(clock, webhooks),
    onCompletionReceived: createCompletionMetrics(registry),
  });
  const secretBox = createSecretBox(secretKeys);
  const { allowPrivate, limits: { hostsPerAccount } = WEBHOOK_LIMITS } = webhooks;
  const outbox = startOutbox({ database, clock, log }, [
    createWebhookSender({ database, clock, log, allowPrivate, hostsPerAccount, secretBox }),
    createChatSender({
      clock,
      allowPrivate,
      async targetsOf(messages) {
        const { publicUrl = null } = mail ?? {};
        const isAlert = ({ kind }: ClaimedMessage) => kind === ALERT_KIND;
        const ofTrackers = messages.filter((message) => !isAlert(message));
        return new Map([
          ...(await chatTargets(database, { secretBox, publicUrl }, ofTrackers)),
          ...alertTargets(alerts, publicUrl, messages.filter(isAlert)),
        ]);
      },
    }),
    createMailSender({
      database,
      clock,
      secretBox,
      registry,
      settings: mail ?? null,
      createResultLink: (result, now) => createMailedLink(database, result, now),
    }),
  ]);
  const stopNotices = mail && startNotices({ database, clock, log }, mailWayOf(mail) === 'sent');
  const sealing = startSealing({ database, clock, log }, secretBox);
  const stopPayments = stripe && startPayments(stripe, { database, clock, log, notify: queuePaymentFailed });
  const fetching = { databaseUrl, providers, clock, log };
  const fetches = reportFetches && (await openReportFetches(reportFetches, fetching));
  const heartbeat = await startHeartbeat(deps, BATCH_POOL, randomUUID());
  return {
    async close() {
      await heartbeat.close();
      await batches.close();
      await stopNotices?.();
      await outbox.close();
      await sealing.close();
      await stopPayments?.();
      await fetches?.close();
    },
  };
}

const SEAL_EVERY_MS = HOUR_MS;

/** Encrypts stored secrets with the present key, now and every hour. */
function startSealing(
  { database, clock, log }: { database: Database; clock: Clock; log: Logger },
  secretBox: SecretBox,
): WorkLoop {
  const loop = startWorkLoop(clock, 'sealing', SEAL_EVERY_MS, async () => {
    try {
      await sealSecrets(database, secretBox);
      await sealTwoFactor(database, secretBox);
      await sealAccountKeys(database, secretBox);
      await sealChats(database, secretBox);
    } catch (error) {
      log.warn({ err: error }, 'failed to encrypt stored secrets');
    }
  });
  loop.wake();
  return loop;
}

/** Repairs what lost events of Stripe left undone, once a minute in one process, until the process stops. */
function startPayments(
  settings: StripeSettings,
  { clock, ...deps }: Omit<StripeDeps, 'now'> & { clock: Clock },
): () => Promise<void> {
  const context = stripeContext(settings, { ...deps, now: clock.now });
  const onceIn = (minutes: number, task: (stripe: typeof context) => Promise<void>) => ({
    pauseMs: minutes * MINUTE_MS - 5_000,
    task: () => task(context),
  });
  return everyWithLease({ ...deps, clock }, MINUTE_MS, 'failed to reconcile payments', {
    renewals: onceIn(1, reconcileRenewals),
    'top-ups': onceIn(1, runTopUps),
    reversals: onceIn(60, reconcileReversals),
    checkouts: onceIn(10, reconcileCheckouts),
  });
}
