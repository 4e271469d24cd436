import nodemailer from 'nodemailer';
import type { Clock } from '../platform/clock.ts';
import type { Failure } from './verdict.ts';

/** A mail in its final form. */
export interface OutgoingMail {
  id: string;
  to: { name: string; address: string };
  subject: string;
  text: string;
  html: string;
  /** The address that switches off mails of this topic; null for mails that cannot be switched off. */
  unsubscribeUrl: string | null;
}

/** Sends a mail once. Never throws. @returns null if the server has accepted it. */
export type SendMail = (mail: OutgoingMail) => Promise<Failure | null>;

/** The time limit of one attempt, from the name lookup to the last reply. */
export const ATTEMPT_TIMEOUT_MS = 60_000;

/** The time limit of each wait within an attempt. */
const WAIT_MS = 15_000;

/** Replies to these commands are about the mail. A refusal of others, such as AUTH, is about the settings. */
const COMMANDS_ABOUT_THE_MAIL: readonly (string | undefined)[] = ['MAIL FROM', 'RCPT TO', 'DATA'];

/** @param smtpUrl the setting SMTP_URL. @param from the setting MAIL_FROM. */
export function createSmtpTransport(smtpUrl: string, from: string, clock: Clock): SendMail {
  const transporter = nodemailer.createTransport({
    // A password is not sent without TLS. `?requireTLS=false` in the address allows it.
    requireTLS: hasPasswordForOtherHost(smtpUrl),
    url: smtpUrl,
    ...{ connectionTimeout: WAIT_MS, greetingTimeout: WAIT_MS, socketTimeout: WAIT_MS, dnsTimeout: WAIT_MS },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  });
  return async (mail) => {
    const timeout = new AbortController();
    const cancel = clock.after(ATTEMPT_TIMEOUT_MS, () => timeout.abort(), 'mail attempt');
    try {
      await transporter.sendMail({ ...messageOf(mail, from), signal: timeout.signal });
      return null;
    } catch (error) {
      return failureOf(error);
    } finally {
      cancel();
    }
  };
}

function messageOf({ id, to, subject, text, html, unsubscribeUrl }: OutgoingMail, from: string) {
  const domain = /@([^\s>]+)/.exec(from)?.[1] ?? 'souk.invalid';
  return {
    ...{ from, to, subject, text, html },
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
function failureOf(thrown: unknown): Failure {
  const { code = 'unknown', command, permanent, response } = thrown as SmtpError;
  const isFinal = permanent === true && COMMANDS_ABOUT_THE_MAIL.includes(command);
  const reply = response ? `: ${response.slice(0, 500)}` : '';
  return { error: `The mail server did not accept the mail (${code})${reply}`, isFinal };
}

function hasPasswordForOtherHost(smtpUrl: string): boolean {
  const { username, hostname } = new URL(smtpUrl);
  return username !== '' && !/^(localhost|127\..*|\[::1\])$/.test(hostname);
}
