import type { Database } from '../platform/db/pool.ts';
import type { SecretBox } from '../platform/secret-box.ts';
import { kindNamed } from './kinds/index.ts';
import { renderText } from './render-text.ts';
import { SHOWN_TEXT } from './send.ts';

export const MAIL_STATES = ['pending', 'sent', 'failed', 'not_sent'] as const;

export type MailState = (typeof MAIL_STATES)[number];

/** A mail as the operator sees it. */
export interface LoggedMail {
  id: string;
  accountId: number | null;
  kind: string;
  recipient: string;
  state: MailState;
  tries: number;
  lastError: string | null;
  createdAt: Date;
  nextAttemptAt: Date | null;
  finishedAt: Date | null;
}

const COLUMNS = `id, account_id as "accountId", kind, recipient, state, tries, last_error as "lastError",
  created_at as "createdAt", next_attempt_at as "nextAttemptAt", finished_at as "finishedAt"`;

/** Returns a page of all mails, the newest first. @param before the id of the last mail of the page before. */
export async function listMails(
  database: Database,
  { state, before, limit }: { state: MailState | null; before: string | null; limit: number },
): Promise<LoggedMail[]> {
  const { rows } = await database.query<LoggedMail>(
    `select ${COLUMNS} from mails where ($1::text is null or state = $1) and ($2::uuid is null or id < $2)
     order by id desc limit $3`,
    [state, before, limit],
  );
  return rows;
}

/**
 * Returns a mail with its text: as it was shown, or as it is sent. The text of a mail whose link carries a token exists only
 * while it is sent.
 */
export async function findMail(
  database: Database,
  id: string,
  { secretBox, publicUrl }: { secretBox: SecretBox; publicUrl: string },
): Promise<(LoggedMail & { text: string | null }) | null> {
  const { rows } = await database.query<LoggedMail & { facts: string; shown: string | null }>(
    `select ${COLUMNS}, facts, shown_text as shown from mails where id = $1`,
    [id],
  );
  const [found] = rows;
  if (!found) return null;
  const { facts, shown, ...mail } = found;
  return {
    ...mail,
    text: shown === null ? textOf(mail.kind, facts, publicUrl) : secretBox.open(shown, SHOWN_TEXT),
  };
}

function textOf(name: string, facts: string, publicUrl: string): string | null {
  const kind = kindNamed(name);
  if (!kind || kind.token) return null;
  const content = kind.content(JSON.parse(facts) as object, '');
  return `${content.subject}\n\n${renderText(content, { publicUrl, unsubscribeUrl: null })}`;
}
