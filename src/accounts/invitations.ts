import { randomBytes } from 'node:crypto';
import type { ClientBase } from 'pg';
import type { Queryable } from '../platform/db/pool.ts';
import { allRows, firstRow } from '../platform/db/rows.ts';
import { inTransaction, type Transactable } from '../platform/db/transaction.ts';
import { digestOf } from '../platform/fingerprint.ts';
import { lockAccount } from './accounts.ts';
import { type Role, setMember } from './members.ts';

const LIFETIME_MS = 7 * 86_400_000;

/** Invitations of an account that are open at a time. */
const MOST_OPEN = 50;

export interface Invitation {
  id: number;
  accountId: number;
  accountName: string;
  email: string;
  role: Role;
  createdAt: Date;
  expiresAt: Date;
}

const SELECT = `select i.id, i.account_id as "accountId", a.name as "accountName", i.email, i.role, i.created_at as "createdAt",
    i.expires_at as "expiresAt"
  from invitations i join accounts a on a.id = i.account_id`;

/** The account has too many open invitations, or the person is a member already. The message says which. */
export class InvitationRefused extends Error {}

/** Invites somebody to an account. An open invitation of the same address is replaced. @throws InvitationRefused. */
export async function invite(
  client: ClientBase,
  { accountId, email, role, by }: { accountId: number; email: string; role: Role; by: number | null },
  now: number,
): Promise<number> {
  await lockAccount(client, accountId);
  const at = new Date(now);
  await client.query('delete from invitations where account_id = $1 and (expires_at <= $2 or email = $3)', [
    accountId,
    at,
    email,
  ]);
  const { rows } = await client.query<{ open: number; isMember: boolean }>(
    `select (select count(*)::int from invitations where account_id = $1) as open,
       exists (select from members m join people p on p.id = m.person_id where m.account_id = $1 and p.email = $2) as "isMember"`,
    [accountId, email],
  );
  if (rows[0]?.isMember) throw new InvitationRefused('is a member already');
  if ((rows[0]?.open ?? 0) >= MOST_OPEN)
    throw new InvitationRefused(`cannot be invited: ${MOST_OPEN} invitations are open. Withdraw one first`);
  const { rows: made } = await client.query<{ id: number }>(
    `insert into invitations (account_id, email, role, invited_by, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6) returning id`,
    [accountId, email, role, by, at, new Date(now + LIFETIME_MS)],
  );
  return made[0]?.id ?? 0;
}

/** Returns the open invitations of an account, the oldest first. */
export function listInvitations(database: Queryable, accountId: number, now: number) {
  return allRows<Invitation>(
    database,
    `${SELECT} where i.account_id = $1 and i.expires_at > $2 order by i.id`,
    [accountId, new Date(now)],
  );
}

/** Withdraws an open invitation. @returns it; null if there is none. */
export function withdrawInvitation(database: Queryable, accountId: number, id: number) {
  return firstRow<{ email: string }>(
    database,
    'delete from invitations where account_id = $1 and id = $2 returning email',
    [accountId, id],
  );
}

/** Makes the token of an open invitation, which is not stored. An earlier one is no longer valid. @returns null if it is not open. */
export async function createInvitationToken(
  database: Queryable,
  id: number,
  now: number,
): Promise<string | null> {
  const token = randomBytes(32).toString('base64url');
  const { rowCount } = await database.query(
    'update invitations set token_hash = $2 where id = $1 and expires_at > $3',
    [id, digestOf(token), new Date(now)],
  );
  return rowCount === 1 ? token : null;
}

/** The path of the page that shows an invitation. */
export function invitationPath(token: string): string {
  return `/invitation?token=${token}`;
}

/** The open invitation of a token; null if it was used, withdrawn or has expired. */
export function findInvitation(database: Queryable, token: string, now: number) {
  return firstRow<Invitation>(database, `${SELECT} where i.token_hash = $1 and i.expires_at > $2`, [
    digestOf(token),
    new Date(now),
  ]);
}

/**
 * Makes a person a member, if the invitation was sent to the person's address. The link has proved the address.
 * @returns the invitation; null if it is not open, or was sent to another address.
 */
export function acceptInvitation(
  database: Transactable,
  token: string,
  { personId, email }: { personId: number; email: string },
  now: number,
  onAccepted: (client: ClientBase, invitation: Invitation) => Promise<void> = async () => {},
): Promise<Invitation | null> {
  return inTransaction(database, async (client) => {
    const invitation = await findInvitation(client, token, now);
    if (invitation?.email !== email) return null;
    // Before the invitation, as everything else that changes the members and invitations of an account.
    await lockAccount(client, invitation.accountId);
    const { rowCount } = await client.query('delete from invitations where id = $1', [invitation.id]);
    if (rowCount === 0) return null;
    const { rowCount: isMember } = await client.query(
      'select from members where account_id = $1 and person_id = $2',
      [invitation.accountId, personId],
    );
    // A person who has become a member meanwhile keeps the role.
    if (!isMember) await setMember(client, { ...invitation, personId }, now);
    await client.query(
      'update people set email_confirmed_at = coalesce(email_confirmed_at, $2) where id = $1',
      [personId, new Date(now)],
    );
    await onAccepted(client, invitation);
    return invitation;
  });
}
