import { createEmailConfirmation } from '../accounts/email-confirmations.ts';
import { createMailedReset, resetPath } from '../accounts/password-resets.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import { retryDuringOutage } from '../platform/retry-during-outage.ts';
import type { SecretBox } from '../platform/secret-box.ts';
import { unsubscribeToken } from './choices.ts';
import { type ClaimedMail, recordMail } from './claims.ts';
import { kindNamed } from './kinds/index.ts';
import { confirmPath, unsubscribePath } from './links.ts';
import { type MailSettings, mailWayOf } from './mail-settings.ts';
import { renderHtml } from './render-html.tsx';
import { renderText } from './render-text.ts';
import type { SendMail } from './transport.ts';
import { reasonNotToSend, type Verdict, verdictOf } from './verdict.ts';

export interface SendDeps {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  /** null: mails are not configured. */
  settings: MailSettings | null;
  /** null: mails are not configured, or only shown. */
  send: SendMail | null;
}

/** What a text that was not sent is sealed for. */
export const SHOWN_TEXT = 'mail';

/** Sends a claimed mail once, and records the outcome, or deletes a mail that must not be kept. @returns the outcome. */
export async function sendClaimed(deps: SendDeps, mail: ClaimedMail): Promise<Verdict> {
  const { database, clock } = deps;
  const { verdict, shownText = null } = await attempt(deps, mail);
  const now = clock.now();
  const isOver = verdict.state !== 'pending' && kindNamed(mail.kind)?.isForgotten;
  const recorded: Verdict = isOver ? { state: 'drop' } : verdict;
  await retryDuringOutage(clock, () => recordMail(database, mail, recorded, shownText, now));
  return verdict;
}

async function attempt(deps: SendDeps, mail: ClaimedMail): Promise<{ verdict: Verdict; shownText?: string }> {
  const { database, clock, secretBox, settings, send } = deps;
  const kind = kindNamed(mail.kind);
  if (!kind) return notSent('Another version of Souk has queued this mail.');
  const way = mailWayOf(settings);
  const reason = reasonNotToSend(mail, kind.topic, way);
  if (reason !== null || !settings) return notSent(reason ?? '');
  const path = await tokenPath(deps, mail, kind.token);
  if (path === null) return { verdict: { state: 'drop' } };
  const { topic } = kind;
  const { accountId, recipient: address, name } = mail;
  const unsubscribeUrl =
    topic === null || accountId === null
      ? null
      : `${settings.publicUrl}${unsubscribePath(await unsubscribeToken(database, accountId, topic))}`;
  const content = kind.content(JSON.parse(mail.facts) as object, path);
  const frame = { publicUrl: settings.publicUrl, unsubscribeUrl };
  const text = renderText(content, frame);
  if (!send) {
    const shownText = secretBox.seal(`${content.subject}\n\n${text}`, SHOWN_TEXT);
    return { ...notSent('Mails are shown in this console, and none are sent.'), shownText };
  }
  const failure = await send({
    id: mail.id,
    to: { name: name ?? '', address },
    ...{ subject: content.subject, text, html: renderHtml(content, frame), unsubscribeUrl },
  });
  return { verdict: verdictOf(failure, mail.tries, clock.now()) };
}

function notSent(error: string): { verdict: Verdict } {
  return { verdict: { state: 'not_sent', error } };
}

/** Makes the token of a mail's link. @returns its path, '' for a mail without one, null if the recipient has no account for it. */
async function tokenPath(
  { database, clock }: SendDeps,
  { accountId, recipient }: ClaimedMail,
  token: 'reset' | 'confirm' | undefined,
): Promise<string | null> {
  if (token === undefined) return '';
  const made =
    token === 'reset'
      ? await createMailedReset(database, recipient, clock.now())
      : accountId && (await createEmailConfirmation(database, accountId, recipient, clock.now()));
  if (!made) return null;
  return token === 'reset' ? resetPath(made) : confirmPath(made);
}
