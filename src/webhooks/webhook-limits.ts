import { SoukError } from '../platform/errors.ts';
import type { Connection } from './deliveries.ts';

/** How many webhooks an account may have. */
export interface WebhookLimits {
  /** Messages about one call. */
  perCall: number;
  /** Deliveries that are pending, and calls whose end is to be sent. */
  pendingPerAccount: number;
}

export const WEBHOOK_LIMITS: WebhookLimits = { perCall: 10, pendingPerAccount: 10_000 };

/** Failed deliveries are retried after minutes, so the number of pending ones does not decrease sooner. */
const RETRY_AFTER_SECONDS = 60;

/**
 * Checks that an account may have another delivery, before anything is charged. Concurrent requests may each pass, so the
 * limit can be exceeded by as many as the account has open.
 * @throws SoukError LIMIT_REACHED.
 */
export async function requireWebhookRoom(
  database: Connection,
  accountId: number,
  limits: WebhookLimits,
): Promise<void> {
  if (await hasWebhookRoom(database, accountId, limits)) return;
  const { pendingPerAccount: most } = limits;
  throw new SoukError('LIMIT_REACHED', {
    message: `The account has ${most} webhooks that are not delivered; at most ${most} are allowed. Repair the receiver, or repeat the request without webhook.`,
    metadata: { limit: most, of: 'pendingWebhooks' },
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

/** Returns whether an account may have another delivery. */
export async function hasWebhookRoom(
  database: Connection,
  accountId: number,
  { pendingPerAccount: most }: WebhookLimits,
): Promise<boolean> {
  const { rows } = await database.query<{ count: number }>({
    name: 'count-webhooks',
    text: `select (select count(*) from (
          select from webhook_deliveries where account_id = $1 and state = 'pending' limit $2) as d)
        + (select count(*) from (select from call_webhooks where account_id = $1 limit $2) as w) as count`,
    values: [accountId, most],
  });
  return (rows[0]?.count ?? 0) < most;
}

/** The refusal of a further webhook of a call. */
export function tooManyOfCall(most: number): SoukError {
  return new SoukError('LIMIT_REACHED', {
    message: `The call has ${most} webhooks; at most ${most} are allowed. Repeat the request without webhook, or after five minutes, when it is a new call.`,
    metadata: { limit: most, of: 'webhooksOfCall' },
    retryAfterSeconds: 300,
  });
}
