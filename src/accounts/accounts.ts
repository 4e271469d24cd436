import type { Database } from '../db/pool.ts';

/** Finds the account of an e-mail address, or creates it. @returns its id. */
export async function ensureAccount(
  database: Database,
  email: string,
  name: string,
  now: number,
): Promise<number> {
  const { rows } = await database.query<{ id: number }>(
    `insert into accounts (email, name, created_at) values ($1, $2, $3)
     on conflict (email) do update set email = excluded.email
     returning id`,
    [email, name, new Date(now)],
  );
  return rows[0]?.id ?? 0;
}
