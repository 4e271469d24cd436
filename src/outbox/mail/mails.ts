import type { StripeDeps } from '../../billing/payments/stripe/stripe-context.ts';
import type { Queryable } from '../../platform/db/pool.ts';
import { DAY_MS } from '../../platform/durations.ts';
import type { SecretBox } from '../../platform/secret-box.ts';
import { enqueueMessages } from '../queue.ts';
import { type FactsOf, kindNamed, type MailKind } from './kinds/index.ts';
import { renderText } from './render.tsx';

/** How this installation sends mails. */
export interface MailSettings {
  /** The sender: the setting MAIL_FROM. */
  from: string;
  /** Address of the pages that mails link to, without a trailing slash. */
  publicUrl: string;
  /**
   * The setting SMTP_URL. `console`: mails are shown in the operator console, and none are sent. null: another process sends
   * them.
   */
  transport: { smtpUrl: string } | 'console' | null;
}

/** Whether this installation sends mails, only shows them in the operator console, or does neither. */
export type MailWay = 'sent' | 'shown' | 'none';

export function mailWayOf(settings: MailSettings | null | undefined): MailWay {
  if (!settings) return 'none';
  return settings.transport === 'console' ? 'shown' : 'sent';
}

/** A mail to the e-mail address of an account. */
export type Notice = {
  [Name in MailKind]: { accountId: number; kind: Name; facts: FactsOf<Name>; to?: undefined };
}[MailKind];

/**
 * A mail to an address that is not the address of its account, or that may belong to no account. `accountId` is the
 * account that the mail is about; null if there is none, or if it has been deleted.
 */
type MailTo = {
  [Name in 'confirm_new_email' | 'reset_password' | 'account_erased']: {
    accountId: number | null;
    kind: Name;
    to: string;
    facts: FactsOf<Name>;
  };
}['confirm_new_email' | 'reset_password' | 'account_erased'];

/**
 * Queues a mail. Within a transaction, it is queued when it commits. A cause makes one mail: the same kind, account and facts
 * again queue nothing.
 * @param now Unix milliseconds. Default: the time of PostgreSQL.
 */
export async function queueMail(database: Queryable, mail: Notice | MailTo, now?: number): Promise<void> {
  const { accountId, kind, to = null, facts } = mail;
  const { causeOf, isForgotten } = kindNamed(kind) ?? {};
  const message = {
    channel: 'mail',
    accountId,
    kind,
    recipient: to,
    host: '',
    payload: JSON.stringify(facts),
    cause: `${kind} ${accountId ?? to} ${causeOf?.(facts)}`,
    expiresAt: isForgotten && now ? new Date(now + FORGOTTEN_MS) : null,
  } as const;
  await enqueueMessages(database, [message], now);
}

/** A mail whose recipient must not be stored is deleted after this time even if no worker has sent it: longer than all attempts. */
const FORGOTTEN_MS = 3 * DAY_MS;

/** Queues the mail about a payment that failed. */
export const queuePaymentFailed: NonNullable<StripeDeps['notify']> = (db, accountId, facts) =>
  queueMail(db, { accountId, kind: 'payment_failed', facts });

export const MAIL_STATES = ['pending', 'sent', 'failed', 'not_sent'] as const;

/** What a text that was not sent is sealed for. */
export const SHOWN_TEXT = 'mail';

/**
 * Returns the text of a mail: as it was shown, or as it is sent. The text of a mail whose link carries a token exists only
 * while it is sent.
 */
export function mailText(
  { kind: name, payload, shownText }: { kind: string; payload: string; shownText: string | null },
  { secretBox, publicUrl }: { secretBox: SecretBox; publicUrl: string },
): string | null {
  if (shownText !== null) return secretBox.open(shownText, SHOWN_TEXT);
  const kind = kindNamed(name);
  if (!kind || kind.token) return null;
  const content = kind.content(JSON.parse(payload) as object, '');
  return `${content.subject}\n\n${renderText(content, { publicUrl, unsubscribeUrl: null })}`;
}
