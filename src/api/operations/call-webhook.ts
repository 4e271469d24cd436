import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { retryDuringOutage } from '../../platform/retry-during-outage.ts';
import { watchJob } from '../../webhooks/job-webhooks.ts';
import { webhookUrl } from '../../webhooks/webhook-url.ts';

export interface WebhookSettings {
  /** The setting WEBHOOK_ALLOW_PRIVATE. */
  allowPrivate: boolean;
}

// Built once: making a schema costs more than most requests do.
const schemas = { private: webhookUrl(true), public: webhookUrl(false) };

/** The `webhook` parameter of a call: where its end is to be told; null where it is not. @throws SoukError VALIDATION_FAILED. */
export function callWebhookOf({ allowPrivate }: WebhookSettings, query: unknown): string | null {
  const { webhook } = query as Record<string, unknown>;
  if (webhook === undefined) return null;
  const url = (allowPrivate ? schemas.private : schemas.public).safeParse(webhook);
  if (url.success) return url.data;
  throw invalidParameters(
    url.error.issues.map(({ message }) => ({ parameter: 'webhook', problem: message })),
  );
}

/** Has the end of an accepted call told, before its caller hears that it was accepted. */
export async function watchCall(
  { clock, database }: { clock: Clock; database: Database },
  { accountId, callId }: { accountId: number; callId: string },
  url: string,
): Promise<void> {
  await retryDuringOutage(clock, () => watchJob(database, { accountId, callId, url }));
}
