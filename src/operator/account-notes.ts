import type { z } from 'zod';
import { text } from '../operations/params/scalars.ts';
import type { Queryable } from '../platform/db/pool.ts';

/** What an operator has written about an account, for other operators. */
export interface AccountNote {
  id: number;
  at: Date;
  /** As in the audit log, such as `person 5`. */
  author: string;
  /** The address of the person who wrote it; null: a program, or a person whose profile was deleted. */
  email: string | null;
  text: string;
}

/** The text of a note: one paragraph. */
export const noteText: z.ZodType<string> = text({ maxLength: 1_000 });

const MOST_NOTES = 200;

/** @returns the id of the note; null if the account has as many notes as it may have. */
export async function addAccountNote(
  client: Queryable,
  note: { accountId: number; author: string; text: string; now: number },
): Promise<number | null> {
  const { accountId, author, text, now } = note;
  const { rows } = await client.query<{ id: number }>(
    `insert into account_notes (account_id, at, author, text) select $1, $2, $3, $4
     where (select count(*) from account_notes where account_id = $1) < $5 returning id`,
    [accountId, new Date(now), author, text, MOST_NOTES],
  );
  return rows[0]?.id ?? null;
}

/** @returns false if the account has no such note. */
export async function deleteAccountNote(client: Queryable, accountId: number, id: number): Promise<boolean> {
  const { rowCount } = await client.query('delete from account_notes where account_id = $1 and id = $2', [
    accountId,
    id,
  ]);
  return rowCount === 1;
}

/** Returns the notes about an account, the newest first. */
export async function accountNotes(database: Queryable, accountId: number): Promise<AccountNote[]> {
  const { rows } = await database.query<AccountNote>(
    `select n.id, n.at, n.author, n.text, p.email from account_notes n
     left join people p on n.author = 'person ' || p.id where n.account_id = $1 order by n.id desc`,
    [accountId],
  );
  return rows;
}
