import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { retryDuringOutage } from '../../platform/retry-during-outage.ts';
import { watchJob } from '../../webhooks/job-webhooks.ts';
import { WEBHOOK_LIMITS, type WebhookLimits } from '../../webhooks/webhook-limits.ts';
import { webhookUrl } from '../../webhooks/webhook-url.ts';

export interface WebhookSettings {
  /** The setting WEBHOOK_ALLOW_PRIVATE. */
  allowPrivate: boolean;
  /** Default: `WEBHOOK_LIMITS`. */
  limits?: WebhookLimits;
}

// Built once, because building a schema takes longer than most requests.
const schemas = { private: webhookUrl(true), public: webhookUrl(false) };

/** Returns the field `webhook` of a query or body: the address that receives the completion of the call, or null. @throws SoukError VALIDATION_FAILED. */
export function callWebhookOf({ allowPrivate }: WebhookSettings, fields: unknown): string | null {
  const { webhook } = fields as Record<string, unknown>;
  if (webhook === undefined) return null;
  const url = (allowPrivate ? schemas.private : schemas.public).safeParse(webhook);
  if (url.success) return url.data;
  throw invalidParameters(
    url.error.issues.map(({ message }) => ({ parameter: 'webhook', problem: message })),
  );
}

/**
 * Registers the webhook of an accepted call. Runs before the call is charged.
 * @throws SoukError LIMIT_REACHED for a joined call that has as many webhooks as are allowed. A call that costs units is not
 * refused here.
 */
export async function watchCall(
  { clock, database, webhooks }: { clock: Clock; database: Database; webhooks: WebhookSettings },
  { accountId, callId, kind }: { accountId: number; callId: string; kind: string },
  url: string,
): Promise<void> {
  const { perCall } = webhooks.limits ?? WEBHOOK_LIMITS;
  const most = kind === 'joined' ? perCall : null;
  await retryDuringOutage(clock, () => watchJob(database, { accountId, callId, url }, clock.now(), most));
}
