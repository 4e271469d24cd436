import type { z } from 'zod';
import { isTestAccount } from '../../accounts/authentication.ts';
import { text } from '../../operations/params/scalars.ts';
import type { Queryable } from '../../platform/db/pool.ts';
import { SoukError } from '../../platform/errors.ts';
import { refusalOf } from './address-guard.ts';

/** How many webhooks an account may have. */
export interface WebhookLimits {
  /** Messages about one call. */
  perCall: number;
  /** Deliveries that are pending, and calls whose end is to be sent. */
  pendingPerAccount: number;
  /** Hosts of these. */
  hostsPerAccount: number;
}

export const WEBHOOK_LIMITS: WebhookLimits = { perCall: 10, pendingPerAccount: 10_000, hostsPerAccount: 100 };

/** The most that a test account may have, because it is free; settings can only lower it. */
const TEST_LIMITS: Omit<WebhookLimits, 'perCall'> = { pendingPerAccount: 1_000, hostsPerAccount: 10 };

/** Failed deliveries are retried after minutes, so the number of pending ones does not decrease sooner. */
const RETRY_AFTER_SECONDS = 60;

/**
 * Checks that an account may have another delivery, before anything is charged. Concurrent requests may each pass, so an
 * account can exceed its limits by the number of its open requests.
 * @throws SoukError LIMIT_REACHED.
 */
export async function requireWebhookRoom(
  database: Queryable,
  webhook: { accountId: number; url: string },
  limits: WebhookLimits,
): Promise<void> {
  const reached = await reachedLimit(database, webhook, limits);
  if (!reached) return;
  const { of, limit } = reached;
  const what =
    of === 'pendingWebhooks' ? `${limit} undelivered webhooks` : `undelivered webhooks to ${limit} hosts`;
  throw new SoukError('LIMIT_REACHED', {
    message: `The account has ${what}; at most ${limit} are allowed. Repair the receiver, or repeat the request without webhook.`,
    metadata: { limit, of },
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

/** Returns whether an account may have another delivery to an address. */
export async function hasWebhookRoom(
  database: Queryable,
  webhook: { accountId: number; url: string },
  limits: WebhookLimits,
): Promise<boolean> {
  return (await reachedLimit(database, webhook, limits)) === null;
}

async function reachedLimit(
  database: Queryable,
  { accountId, url }: { accountId: number; url: string },
  limits: WebhookLimits,
): Promise<{ of: 'pendingWebhooks' | 'pendingWebhookHosts'; limit: number } | null> {
  const { pendingPerAccount, hostsPerAccount } = limitsOf(accountId, limits);
  const { rows } = await database.query<{ count: number; hosts: number; isKnownHost: boolean | null }>({
    name: 'count-webhooks',
    text: `select count(*), count(distinct host) as hosts, bool_or(host = $3) as "isKnownHost" from (
        (select host from outbox where account_id = $1 and channel in ('webhook', 'chat') and state = 'pending' limit $2)
        union all
        (select host from call_webhooks where account_id = $1 limit $2)) as w`,
    values: [accountId, pendingPerAccount, new URL(url).host],
  });
  const { count = 0, hosts = 0, isKnownHost } = rows[0] ?? {};
  if (count >= pendingPerAccount) return { of: 'pendingWebhooks', limit: pendingPerAccount };
  if (hosts >= hostsPerAccount && !isKnownHost) return { of: 'pendingWebhookHosts', limit: hostsPerAccount };
  return null;
}

function limitsOf(accountId: number, limits: WebhookLimits): WebhookLimits {
  if (!isTestAccount(accountId)) return limits;
  return {
    perCall: limits.perCall,
    pendingPerAccount: Math.min(limits.pendingPerAccount, TEST_LIMITS.pendingPerAccount),
    hostsPerAccount: Math.min(limits.hostsPerAccount, TEST_LIMITS.hostsPerAccount),
  };
}

/** The refusal of a further webhook of a call. */
export function tooManyOfCall(most: number): SoukError {
  return new SoukError('LIMIT_REACHED', {
    message: `The call has ${most} webhooks; at most ${most} are allowed. Repeat the request without webhook, or after five minutes, when it is a new call.`,
    metadata: { limit: most, of: 'webhooksOfCall' },
    retryAfterSeconds: 300,
  });
}

const LONGEST_URL = 2_000;

/**
 * Parameter for the address of a webhook: an http or https URL, in its normal form. URLs that are wrong by their
 * text are refused immediately; the addresses of a host name are checked at each delivery.
 * @param allowPrivate the setting WEBHOOK_ALLOW_PRIVATE.
 */
export function webhookUrl(allowPrivate: boolean): z.ZodType<string> {
  return text({ maxLength: LONGEST_URL }).transform((given, context) => {
    const refusal = URL.canParse(given)
      ? refusalOf(new URL(given), allowPrivate)
      : 'must be an address such as https://example.com/hook';
    if (refusal === null) return new URL(given).href;
    context.addIssue({ code: 'custom', message: refusal });
    return given;
  });
}
