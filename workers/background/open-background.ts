import { createFairness } from '../../jobs/fairness.ts';
import { createBatchNotifier } from '../../src/batches/notify-webhook.ts';
import { createAdmissions } from '../../src/billing/admission.ts';
import type { OffPeakWindow } from '../../src/billing/wallets.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { createSecretBox } from '../../src/platform/secret-box.ts';
import { type BatchWorkerDeps, openBatchWorker } from './batch-worker.ts';
import { startDeliveries } from './deliveries.ts';
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
}

/** Opens the pool `batch`: batches and schedules, webhook deliveries, and fetching weekly reports. */
export async function openBackground(
  { databaseUrl, offPeak, webhooks, accountLimits, secretKeys, reportFetches }: BackgroundSettings,
  deps: Omit<
    BatchWorkerDeps,
    'offPeak' | 'webhooks' | 'accountLimits' | 'admissions' | 'backlog' | 'fairness' | 'onFinished'
  > & {
    /** For admissions. */
    money: Database;
  },
): Promise<{ close(): Promise<void> }> {
  const { database, money, providers, clock, log } = deps;
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
  });
  const secretBox = createSecretBox(secretKeys);
  const { allowPrivate } = webhooks;
  const deliveries = startDeliveries({ database, clock, log, allowPrivate, secretBox });
  const fetching = { databaseUrl, providers, clock, log };
  const fetches = reportFetches && (await openReportFetches(reportFetches, fetching));
  return {
    async close() {
      await batches.close();
      await deliveries.close();
      await fetches?.close();
    },
  };
}
