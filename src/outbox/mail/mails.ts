import { addressFor } from '../../accounts/account-address.ts';
import type { Role } from '../../accounts/members.ts';
import type { StripeDeps } from '../../billing/payments/stripe/stripe-context.ts';
import type { Queryable } from '../../platform/db/pool.ts';
import { DAY_MS } from '../../platform/durations.ts';
import type { SecretBox } from '../../platform/secret-box.ts';
import { enqueueMessages } from '../queue.ts';
import type { Block, Content } from './kinds/content.ts';
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

/** A mail about an account, to its members whom it concerns; see `roles` of the kinds. */
export type AccountNotice = {
  [Name in AccountMail]: { accountId: number; kind: Name; facts: FactsOf<Name> };
}[AccountMail];

type AccountMail = Exclude<MailKind, PersonMail | AddressMail>;

/** A mail about a person. `to`: another address than that of the person. */
export type PersonNotice = {
  [Name in PersonMail]: { personId: number; kind: Name; facts: FactsOf<Name>; to?: string };
}[PersonMail];

type PersonMail =
  | 'confirm_email'
  | 'confirm_new_email'
  | 'email_changing'
  | 'new_sign_in'
  | 'password_changed'
  | 'two_factor_changed';

/** A mail to an address that may have no profile. `accountId`: the account that it is about; null: none that exists. */
type AddressNotice = {
  [Name in AddressMail]: { accountId: number | null; kind: Name; to: string; facts: FactsOf<Name> };
}[AddressMail];

type AddressMail = 'reset_password' | 'account_erased' | 'invitation' | 'operator_alert';

export type Notice = AccountNotice | PersonNotice | AddressNotice;

/**
 * Queues a mail. Within a transaction, it is queued when it commits. A cause makes one mail to each recipient: the same kind,
 * account or person, and facts again queue nothing.
 * @param now Unix milliseconds. Default: the time of PostgreSQL.
 */
export async function queueMail(database: Queryable, notice: Notice, now?: number): Promise<void> {
  const { kind, facts } = notice;
  const { causeOf, isForgotten, roles = [] } = kindNamed(kind) ?? {};
  const recipients = await recipientsOf(database, notice, roles);
  const accountId = 'accountId' in notice ? notice.accountId : null;
  const about =
    'personId' in notice
      ? `person ${notice.personId}`
      : isAddressNotice(notice)
        ? `${accountId ?? notice.to}`
        : accountId;
  const cause = `${kind} ${about} ${causeOf?.(facts)}`;
  const messages = recipients.map(({ personId, email }) => ({
    channel: 'mail' as const,
    accountId,
    personId,
    kind,
    recipient: email,
    host: '',
    payload: JSON.stringify(facts),
    cause: personId === null ? cause : `${cause} to person ${personId}`,
    expiresAt: isForgotten && now ? new Date(now + FORGOTTEN_MS) : null,
  }));
  await enqueueMessages(database, messages, now);
}

function isAddressNotice(notice: Notice): notice is AddressNotice {
  return !('personId' in notice) && 'to' in notice;
}

async function recipientsOf(
  database: Queryable,
  notice: Notice,
  roles: readonly Role[],
): Promise<{ personId: number | null; email: string }[]> {
  if (isAddressNotice(notice)) return [{ personId: null, email: notice.to }];
  const { rows } =
    'personId' in notice
      ? await database.query<{ personId: number; email: string }>(
          'select id as "personId", coalesce($2, email) as email from people where id = $1',
          [notice.personId, notice.to ?? null],
        )
      : await database.query<{ personId: number; email: string }>(
          `select p.id as "personId", p.email from members m join people p on p.id = m.person_id
           where m.account_id = $1 and m.role = any($2) order by m.created_at, p.id`,
          [notice.accountId, roles],
        );
  return rows;
}

/** A mail whose recipient must not be stored is deleted after this time even if no worker has sent it: longer than all attempts. */
const FORGOTTEN_MS = 3 * DAY_MS;

/** Queues the mail about a payment that failed. */
export const queuePaymentFailed: NonNullable<StripeDeps['notify']> = (db, accountId, facts) =>
  queueMail(db, { accountId, kind: 'payment_failed', facts });

export const MAIL_STATES = ['pending', 'sent', 'failed', 'not_sent'] as const;

/** What a text that was not sent is sealed for. */
export const SHOWN_TEXT = 'mail';

/** Returns a mail whose links lead to the pages of the account that it is about. @param accountId 0: none. */
export function linkedTo(accountId: number, { subject, blocks }: Content): Content {
  const linked = (block: Block) =>
    typeof block === 'object' && 'path' in block && accountId !== 0
      ? { ...block, path: addressFor(accountId, block.path) }
      : block;
  return { subject, blocks: blocks.map(linked) };
}

/**
 * Returns the text of a mail: as it was shown, or as it is sent. The text of a mail whose link carries a token exists only
 * while it is sent.
 */
export function mailText(
  mail: { kind: string; accountId: number | null; payload: string; shownText: string | null },
  { secretBox, publicUrl }: { secretBox: SecretBox; publicUrl: string },
): string | null {
  const { kind: name, accountId, payload, shownText } = mail;
  if (shownText !== null) return secretBox.open(shownText, SHOWN_TEXT);
  const kind = kindNamed(name);
  if (!kind || kind.token) return null;
  const content = linkedTo(accountId ?? 0, kind.content(JSON.parse(payload) as object, ''));
  return `${content.subject}\n\n${renderText(content, { publicUrl, unsubscribeUrl: null, footer: kind.footer })}`;
}
