import { z } from 'zod';
import { BATCH_POOL } from '../operations/pools.ts';
import { type AlertReceivers, NO_RECEIVERS } from '../operator/alerts/messages.ts';
import type { MailSettings } from '../outbox/mail/mails.ts';
import { webhookUrl } from '../outbox/webhooks/webhook-limits.ts';
import { ConfigError } from '../platform/settings.ts';
import type { Config } from './config.ts';

const MOST_ADDRESSES = 10;

/** Settings of the alerts of the operator. */
export const ALERTING = {
  ALERT_MAIL: z
    .string()
    .transform((value) => value.split(',').map((address) => address.trim()))
    .pipe(
      z
        .array(z.email('must be e-mail addresses, separated by commas'))
        .max(MOST_ADDRESSES, `must be at most ${MOST_ADDRESSES} e-mail addresses`),
    )
    .optional()
    .describe(
      'E-mail addresses, separated by commas, that get the [alerts](monitoring.md#alerts) of the operator; needed by workers of the pool `batch`, with SMTP_URL and MAIL_FROM. Default: no mails',
    ),
  ALERT_WEBHOOK: webhookUrl(true)
    .optional()
    .describe(
      'Address of an incoming webhook of Slack, Discord or Teams that gets the [alerts](monitoring.md#alerts) of the operator; needed by workers of the pool `batch`. Default: no chat messages',
    ),
} as const;

/** Returns where a worker sends alerts. @throws ConfigError if it has no mail server for them, or may not send to the webhook. */
export function alertReceiversOf(
  config: Pick<Config, 'ALERT_MAIL' | 'ALERT_WEBHOOK' | 'WEBHOOK_ALLOW_PRIVATE' | 'WORKER_POOLS'>,
  mail: MailSettings | null,
): AlertReceivers {
  const { ALERT_MAIL, ALERT_WEBHOOK } = config;
  if (!config.WORKER_POOLS.includes(BATCH_POOL)) return NO_RECEIVERS;
  if (ALERT_MAIL && mail === null)
    throw new ConfigError('ALERT_MAIL is set: set MAIL_FROM and SMTP_URL as well.');
  const refused = webhookUrl(config.WEBHOOK_ALLOW_PRIVATE).optional().safeParse(ALERT_WEBHOOK).error;
  if (refused) throw new ConfigError(`ALERT_WEBHOOK ${refused.issues[0]?.message}.`);
  return { mail: ALERT_MAIL ?? [], webhook: ALERT_WEBHOOK ?? null };
}
