import nodemailer from 'nodemailer';
import { Counter, type Registry } from 'prom-client';
import { createInvitationToken, invitationPath } from '../../accounts/invitations.ts';
import { createMailedReset, resetPath } from '../../accounts/passwords.ts';
import { createEmailConfirmation } from '../../accounts/people.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import { hasRow } from '../../platform/db/rows.ts';
import { DAY_MS, MINUTE_MS } from '../../platform/durations.ts';
import type { SecretBox } from '../../platform/secret-box.ts';
import type { Attempt, ClaimedMessage, Outcome, Sender, Skipped } from '../queue.ts';
import { unsubscribePath, unsubscribeToken } from './choices.ts';
import type { TokenUse, Topic } from './kinds/content.ts';
import { kindNamed } from './kinds/index.ts';
import type { ResultFacts } from './kinds/notice-mails.ts';
import { linkedTo, type MailSettings, type MailWay, mailWayOf, SHOWN_TEXT } from './mails.ts';
import { renderHtml, renderText } from './render.tsx';

interface MailSenderDeps {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  registry: Registry;
  /** null: mails are not configured, and queued ones end as not sent. */
  settings: MailSettings | null;
  createResultLink: CreateResultLink;
}

/**
 * Creates the link of a mail to results. An attempt replaces the link of the one before.
 * @returns its path, '' if the account has too many links or the key of the results has ended, null if there are no results any more.
 */
type CreateResultLink = (mail: ResultMail, now: number) => Promise<string | null>;

export interface ResultMail {
  mailId: string;
  personId: number | null;
  facts: ResultFacts;
}

/** Who a mail goes to. */
interface Recipient {
  name: string;
  isConfirmed: boolean;
  /** Whether the account that the mail is about is active. */
  isActive: boolean;
  topicsOff: Topic[];
}

const NO_PERSON: Recipient = { name: '', isConfirmed: false, isActive: false, topicsOff: [] };

/** All mails go through one server. */
const LIMITS = { atOnce: 4, perHost: 4, perAccount: 4, hostsPerAccount: 1 };

/** How long mails are kept after their end. A notice that is still known is not sent again for the same cause. */
const KEPT_DAYS = { notices: 400, others: 30 } as const;

/**
 * Sends mails. A mail is sent once, unless the process or PostgreSQL dies between the acceptance by the mail server and its
 * record.
 */
export function createMailSender(deps: MailSenderDeps): Sender {
  const { database, clock, registry, settings } = deps;
  const outcomes = new Counter({
    name: 'souk_mails_total',
    help: 'Attempts to send mails, by kind and outcome.',
    labelNames: ['kind', 'outcome'],
    registers: [registry],
  });
  const transport = settings?.transport;
  const send =
    settings && transport && transport !== 'console'
      ? createSmtpTransport(transport.smtpUrl, settings.from, clock)
      : null;
  return {
    channel: 'mail',
    accepted: 'sent',
    claimMs: 300_000,
    limits: LIMITS,

    expiresAt({ kind: name }, endedAt) {
      const kind = kindNamed(name);
      if (kind?.isForgotten) return null;
      const isNotice = kind?.topic && kind.topic !== 'tracker' && kind.topic !== 'results';
      return new Date(endedAt + (isNotice ? KEPT_DAYS.notices : KEPT_DAYS.others) * DAY_MS);
    },

    onOutcome({ kind }, state) {
      outcomes.labels(kind, state).inc();
    },

    async prepare(mails) {
      const recipients = await recipientsOf(database, mails);
      return (mail) => attempt(deps, send, mail, recipients.get(mail.id) ?? NO_PERSON);
    },
  };
}

/** @returns by the ids of the mails. */
async function recipientsOf(
  database: Database,
  mails: readonly ClaimedMessage[],
): Promise<Map<string, Recipient>> {
  const { rows } = await database.query<Recipient & { id: string }>({
    name: 'mail-recipients',
    text: `select m.id, p.name, p.email_confirmed_at is not null as "isConfirmed",
        coalesce(a.state = 'active', true) as "isActive", coalesce(c.topics_off, '{}') as "topicsOff"
      from outbox m join people p on p.id = m.person_id
      left join accounts a on a.id = m.account_id
      left join mail_choices c on c.account_id = m.account_id and c.person_id = m.person_id
      where m.id = any($1)`,
    values: [mails.map(({ id }) => id)],
  });
  return new Map(rows.map(({ id, ...recipient }) => [id, recipient]));
}

async function attempt(
  deps: MailSenderDeps,
  send: SendMail | null,
  mail: ClaimedMessage,
  recipient: Recipient,
): Promise<Outcome> {
  const { database, secretBox, settings } = deps;
  const kind = kindNamed(mail.kind);
  if (!kind) return notSent('Another version of Souk has queued this mail.');
  const { topic = null } = kind;
  const reason = reasonNotToSend(recipient, topic, mailWayOf(settings));
  if (reason !== null || !settings) return notSent(reason ?? '');
  const path = await tokenPath(deps, mail, kind.token);
  if (path === null) return { state: 'drop', error: null };
  const { accountId, personId } = mail;
  const unsubscribeUrl =
    topic === null || personId === null
      ? null
      : `${settings.publicUrl}${unsubscribePath(await unsubscribeToken(database, { accountId, personId }, topic))}`;
  const content = linkedTo(accountId, kind.content(JSON.parse(mail.payload) as object, path));
  const frame = { publicUrl: settings.publicUrl, unsubscribeUrl, footer: kind.footer };
  const text = renderText(content, frame);
  if (!send) {
    const shownText = secretBox.seal(`${content.subject}\n\n${text}`, SHOWN_TEXT);
    return { ...notSent('Mails are shown in this console, and none are sent.'), shownText };
  }
  return send({
    id: mail.id,
    to: { name: recipient.name, address: mail.recipient },
    subject: content.subject,
    text,
    html: renderHtml(content, frame),
    unsubscribeUrl,
  });
}

function notSent(error: string): Skipped {
  return { state: 'not_sent', error };
}

/**
 * Why a mail is not sent; null if it is. A notice goes only to a confirmed address, because any visitor can sign up with the
 * address of another person. Mails about security, and those with a link that confirms the address, go to each address.
 */
function reasonNotToSend(
  { isConfirmed, isActive, topicsOff }: Recipient,
  topic: Topic | null,
  way: MailWay,
): string | null {
  if (way === 'none') return 'This service sends no mails: SMTP_URL is not set.';
  if (topic === null) return null;
  if (topicsOff.includes(topic)) return 'The recipient has switched off mails of this kind.';
  if (!isActive) return 'The account is not active.';
  if (!isConfirmed && way === 'sent') return 'The e-mail address is not confirmed.';
  return null;
}

/** Makes the token of a mail's link. @returns its path, '' for a mail without one, null if there is nothing any more that it is for. */
async function tokenPath(
  { database, clock, createResultLink }: MailSenderDeps,
  { id: mailId, personId, recipient, payload, createdAt: requestedAt }: ClaimedMessage,
  token: TokenUse | undefined,
): Promise<string | null> {
  const now = clock.now();
  switch (token) {
    case undefined:
      return '';
    case 'reset': {
      const made = await createMailedReset(database, recipient, now);
      return made && resetPath(made);
    }
    case 'confirm': {
      const { present = recipient } = JSON.parse(payload) as { present?: string };
      if (personId === null || (await hasLaterChange(database, personId, mailId))) return null;
      const about = { present, requestedAt, now };
      const made = await createEmailConfirmation(database, personId, recipient, about);
      return made ? `/confirm-email?token=${made}` : null;
    }
    case 'invitation': {
      const { invitationId } = JSON.parse(payload) as { invitationId: number };
      const made = await createInvitationToken(database, invitationId, now);
      return made && invitationPath(made);
    }
    case 'result':
      return createResultLink({ mailId, personId, facts: JSON.parse(payload) as ResultFacts }, now);
  }
}

/** Whether a person has requested another address after a mail was queued, which ends the links of that mail. */
function hasLaterChange(database: Database, personId: number, mailId: string) {
  const later = "select from outbox where person_id = $1 and kind = 'confirm_new_email' and id > $2";
  return hasRow(database, later, [personId, mailId]);
}

/** A mail in its final form. */
interface OutgoingMail {
  id: string;
  to: { name: string; address: string };
  subject: string;
  text: string;
  html: string;
  /** The address that switches off mails of this topic; null for mails that cannot be switched off. */
  unsubscribeUrl: string | null;
}

/** Sends a mail once. Never throws. */
type SendMail = (mail: OutgoingMail) => Promise<Attempt>;

/** The time limit of one attempt, from the name lookup to the last reply. */
const ATTEMPT_TIMEOUT_MS = MINUTE_MS;

/** The time limit of each wait within an attempt. */
const WAIT_MS = 15_000;

/** Replies to these commands are about the mail. A refusal of others, such as AUTH, is about the settings. */
const COMMANDS_ABOUT_THE_MAIL: readonly (string | undefined)[] = ['MAIL FROM', 'RCPT TO', 'DATA'];

/** @param smtpUrl the setting SMTP_URL. @param from the setting MAIL_FROM. */
function createSmtpTransport(smtpUrl: string, from: string, clock: Clock): SendMail {
  const transporter = nodemailer.createTransport({
    // A password is not sent without TLS. `?requireTLS=false` in the address allows it.
    requireTLS: hasPasswordForOtherHost(smtpUrl),
    url: smtpUrl,
    connectionTimeout: WAIT_MS,
    greetingTimeout: WAIT_MS,
    socketTimeout: WAIT_MS,
    dnsTimeout: WAIT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return async (mail) => {
    const startedAt = clock.now();
    const timeout = new AbortController();
    const attempted = (result: Pick<Attempt, 'error' | 'isFinal'>) => ({
      ...result,
      status: null,
      response: null,
      durationMs: clock.now() - startedAt,
    });
    const cancel = clock.after(ATTEMPT_TIMEOUT_MS, () => timeout.abort(), 'mail attempt');
    try {
      await transporter.sendMail({ ...messageOf(mail, from), signal: timeout.signal });
      return attempted({ error: null, isFinal: false });
    } catch (error) {
      return attempted(failureOf(error));
    } finally {
      cancel();
    }
  };
}

function messageOf({ id, to, subject, text, html, unsubscribeUrl }: OutgoingMail, from: string) {
  const domain = /@([^\s>]+)/.exec(from)?.[1] ?? 'souk.invalid';
  return {
    from,
    to,
    subject,
    text,
    html,
    // The same for each attempt, so that a mail program can recognise a mail that was sent twice.
    messageId: `<${id}@${domain}>`,
    headers: {
      'Auto-Submitted': 'auto-generated',
      ...(unsubscribeUrl === null
        ? {}
        : {
            'List-Unsubscribe': `<${unsubscribeUrl}>`,
            'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
          }),
    },
  };
}

interface SmtpError extends Error {
  code?: string;
  command?: string;
  permanent?: boolean;
  response?: string;
}

/** Describes an error without the address of the server, which may contain a password. */
function failureOf(thrown: unknown): Pick<Attempt, 'error' | 'isFinal'> {
  const { code = 'unknown', command, permanent, response } = thrown as SmtpError;
  const isFinal = permanent === true && COMMANDS_ABOUT_THE_MAIL.includes(command);
  const reply = response ? `: ${response.slice(0, 500)}` : '';
  return { error: `The mail server did not accept the mail (${code})${reply}`, isFinal };
}

function hasPasswordForOtherHost(smtpUrl: string): boolean {
  const { username, hostname } = new URL(smtpUrl);
  return username !== '' && !/^(localhost|127\..*|\[::1\])$/.test(hostname);
}
