import { randomBytes } from 'node:crypto';
import type { ClientBase } from 'pg';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { allRows, firstRow, hasRow } from '../platform/db/rows.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { digestOf } from '../platform/fingerprint.ts';

/** What a person may do in the console of the installation. */
export const INSTALLATION_ROLES = ['operator', 'support', 'finance', 'observer'] as const;

export type InstallationRole = (typeof INSTALLATION_ROLES)[number];

/** Somebody who signs in. Units, keys and data belong to accounts, of which a person is a member; see members.ts. */
export interface Person {
  id: number;
  email: string;
  name: string;
  createdAt: Date;
  /** null: the e-mail address is not confirmed. */
  emailConfirmedAt: Date | null;
  /** null: the person has no access to the console. */
  installationRole: InstallationRole | null;
}

const COLUMNS = `id, email, name, created_at as "createdAt", email_confirmed_at as "emailConfirmedAt",
  installation_role as "installationRole"`;

/** @returns null if somebody has this e-mail address. */
export function createPerson(
  database: Queryable,
  { email, name }: { email: string; name: string },
  now: number,
) {
  return firstRow<Person>(
    database,
    `insert into people (email, name, created_at) values ($1, $2, $3)
     on conflict (email) do nothing returning ${COLUMNS}`,
    [email, name, new Date(now)],
  );
}

export function findPerson(database: Queryable, id: number) {
  return firstRow<Person>(database, `select ${COLUMNS} from people where id = $1`, [id]);
}

/** @param email in lower case. */
export function findPersonByEmail(database: Queryable, email: string) {
  return firstRow<Person>(database, `select ${COLUMNS} from people where email = $1`, [email]);
}

/** Sets the units up to which the pages make a person's calls without showing their cost first; 0: they always show it. */
export async function setDirectUnits(database: Queryable, personId: number, units: number): Promise<void> {
  await database.query('update people set direct_units = $2 where id = $1', [personId, units]);
}

export async function isEmailTaken(database: Queryable, email: string): Promise<boolean> {
  return (await findPersonByEmail(database, email)) !== null;
}

/** Returns the people with a role in the installation, the oldest first. */
export function listStaff(database: Queryable) {
  return allRows<Person>(
    database,
    `select ${COLUMNS} from people where installation_role is not null order by id`,
  );
}

/** Whether anybody is an operator. */
export function hasOperator(database: Queryable) {
  return hasRow(database, "select from people where installation_role = 'operator' limit 1");
}

/**
 * Sets what a person may do in the console from the next request on; null: nothing.
 * @param isClaimed whether the role comes from a claim of the OpenID Connect provider. @returns null if the person does not exist.
 */
export function setInstallationRole(
  database: Queryable,
  personId: number,
  role: InstallationRole | null,
  isClaimed = false,
) {
  return firstRow<Person>(
    database,
    `update people set installation_role = $2, is_role_claimed = $3 where id = $1 returning ${COLUMNS}`,
    [personId, role, isClaimed],
  );
}

/** Whether the role of a person comes from a claim of the OpenID Connect provider. */
export function hasClaimedRole(database: Queryable, personId: number) {
  return hasRow(database, 'select from people where id = $1 and is_role_claimed', [personId]);
}

/** Confirms the e-mail address of a person. If it is confirmed already, the stored time does not change. @returns null if the person does not exist. */
export function confirmEmail(database: Queryable, personId: number, now: number) {
  return firstRow<Person>(
    database,
    `update people set email_confirmed_at = coalesce(email_confirmed_at, $2) where id = $1 returning ${COLUMNS}`,
    [personId, new Date(now)],
  );
}

/** How long a link that confirms an e-mail address is valid. */
const CONFIRMATION_LIFETIME_MS = 86_400_000;

/**
 * Creates a token that confirms once that an address belongs to a person. It is sent to that address. A token for another
 * address than the present one also changes the address.
 * @param present the address of the person when the token was requested: a mail may be sent much later.
 * @param requestedAt the password must not have been changed since a change of the address was requested.
 * @returns the token, which is not stored; null if the person does not exist, has another address, or has changed the password.
 */
export async function createEmailConfirmation(
  database: Queryable,
  personId: number,
  email: string,
  { present, requestedAt, now }: { present: string; requestedAt: Date; now: number },
): Promise<string | null> {
  const token = randomBytes(32).toString('base64url');
  const { rowCount } = await database.query(
    `insert into email_confirmations (token_hash, person_id, email, present_email, expires_at)
     select $1, id, $3, email, $4 from people where id = $2 and email = $6 and (email = $3
       or not exists (select from passwords p where p.person_id = $2 and p.changed_at > $5))`,
    [digestOf(token), personId, email, new Date(now + CONFIRMATION_LIFETIME_MS), requestedAt, present],
  );
  return rowCount === 1 ? token : null;
}

/** The address that a token confirms; null if the token is unknown, used or expired. */
export async function emailOfConfirmation(
  database: Queryable,
  token: string,
  now: number,
): Promise<string | null> {
  const { rows } = await database.query<{ email: string }>(
    `select c.email from email_confirmations c join people p on p.id = c.person_id
     where c.token_hash = $1 and c.expires_at > $2 and p.email = c.present_email`,
    [digestOf(token), new Date(now)],
  );
  return rows[0]?.email ?? null;
}

/**
 * Confirms an address, makes it that of the person, and invalidates the person's other tokens. A change of address also invalidates
 * the links that set a new password: they were sent to the earlier address.
 * @returns false if the token is not valid, or somebody else has the address.
 */
export function confirmEmailByToken(
  database: Database,
  token: string,
  now: number,
  onConfirmed: (client: ClientBase, personId: number) => Promise<void> = async () => {},
): Promise<boolean> {
  return inTransaction(database, async (client) => {
    const found = await firstRow<{ personId: number; email: string; present: string }>(
      client,
      `delete from email_confirmations where token_hash = $1 and expires_at > $2
       returning person_id as "personId", email, present_email as present`,
      [digestOf(token), new Date(now)],
    );
    if (!found) return false;
    const { personId, email, present } = found;
    const { rowCount } = await client.query(
      `update people set email = $2, email_confirmed_at = case when email = $2 then coalesce(email_confirmed_at, $4) else $4 end
       where id = $1 and email = $3 and not exists (select 1 from people where email = $2 and id <> $1)`,
      [personId, email, present, new Date(now)],
    );
    await endEmailConfirmations(client, personId);
    if (rowCount === 1 && email !== present)
      await client.query('delete from password_resets where person_id = $1', [personId]);
    if (rowCount === 1) await onConfirmed(client, personId);
    return rowCount === 1;
  });
}

/**
 * Invalidates the tokens that would change the address of a person who sets another password: somebody who knew the earlier one may
 * have requested them.
 */
export async function endEmailChanges(database: Queryable, personId: number): Promise<void> {
  await database.query('delete from email_confirmations where person_id = $1 and email <> present_email', [
    personId,
  ]);
}

/** Invalidates the tokens of a person who requests another address. */
export async function endEmailConfirmations(database: Queryable, personId: number): Promise<void> {
  await database.query('delete from email_confirmations where person_id = $1', [personId]);
}
