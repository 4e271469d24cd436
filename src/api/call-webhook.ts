import { invalidParameters } from '../platform/errors.ts';
import { retryDuringOutage } from '../platform/retry-during-outage.ts';
import { watchJob } from '../webhooks/job-webhooks.ts';
import { requireSecret } from '../webhooks/secrets.ts';
import { webhookUrl } from '../webhooks/webhook-url.ts';
import type { Gateway } from './gateway.ts';

// Built once: making a schema costs more than most requests do.
const schemas = { private: webhookUrl(true), public: webhookUrl(false) };

/** The `webhook` parameter of a call: where its end is to be told; null where it is not. @throws SoukError VALIDATION_FAILED. */
export function callWebhookOf(gateway: Gateway, query: unknown): string | null {
  const { webhook } = query as Record<string, unknown>;
  if (webhook === undefined) return null;
  const schema = gateway.webhooks.allowPrivate ? schemas.private : schemas.public;
  const url = schema.safeParse(webhook);
  if (url.success) return url.data;
  throw invalidParameters(
    url.error.issues.map(({ message }) => ({ parameter: 'webhook', problem: message })),
  );
}

/** Refuses a webhook that could not be signed, before anything is charged. @throws SoukError VALIDATION_FAILED, or the key's. */
export async function requireCallSecret(gateway: Gateway, keyHash: Buffer): Promise<void> {
  await requireSecret(gateway.database, await gateway.authentication.accountOf(keyHash), 'webhook');
}

/** Has the end of an accepted call told, before its caller hears that it was accepted. */
export async function watchCall(
  { clock, database }: Gateway,
  { accountId, callId }: { accountId: number; callId: string },
  url: string,
): Promise<void> {
  await retryDuringOutage(clock, () => watchJob(database, { accountId, callId, url }));
}
