import type { ClientBase } from 'pg';
import type { Queryable } from '../platform/db/pool.ts';
import { allRows, firstRow } from '../platform/db/rows.ts';
import { inTransaction, type Transactable } from '../platform/db/transaction.ts';
import { lockAccount } from './accounts.ts';
import type { KeyScopes } from './key-settings.ts';

/** What a person may do in an account. */
export const ROLES = ['owner', 'admin', 'developer', 'billing', 'viewer'] as const;

export type Role = (typeof ROLES)[number];

/** What a page does. Pages that only read need no more than membership. */
export type Ability =
  /** Calls, jobs, batches, schedules, trackers, webhooks. */
  | 'work'
  /** API keys: developers change only those that they have created. */
  | 'keys'
  /** Plans, packs, invoices, means of payment. */
  | 'billing'
  /** Members, invitations, roles, settings of the account. */
  | 'people'
  /** Deletion of the account, and owners. */
  | 'ownership';

const ABILITIES: Readonly<Record<Role, readonly Ability[]>> = {
  owner: ['work', 'keys', 'billing', 'people', 'ownership'],
  admin: ['work', 'keys', 'people'],
  developer: ['work', 'keys'],
  billing: ['billing'],
  viewer: [],
};

/** The name of each role, and what it may do. */
export const ROLE_TEXTS: Readonly<Record<Role, readonly [name: string, may: string]>> = {
  owner: ['Owner', 'everything, also deletion of the account and other owners'],
  admin: ['Admin', 'people, all keys, settings, calls and automation'],
  developer: ['Developer', 'keys of their own, calls and automation'],
  billing: ['Billing', 'plans, invoices and usage'],
  viewer: ['Viewer', 'reads'],
};

export function isAble(role: Role, ability: Ability): boolean {
  return ABILITIES[role].includes(ability);
}

/** The roles that may do something, in words: "an owner or admin". */
export function rolesAble(ability: Ability): string {
  const able = ROLES.filter((role) => isAble(role, ability));
  const last = able.at(-1) ?? '';
  const words = able.length > 1 ? `${able.slice(0, -1).join(', ')} or ${last}` : last;
  return `${/^[aeiou]/.test(words) ? 'an' : 'a'} ${words}`;
}

/** The scopes of the key with which pages call the API for a person. */
export const PAGE_SCOPES: Readonly<Record<Role, KeyScopes>> = {
  owner: null,
  admin: null,
  developer: null,
  billing: ['read'],
  viewer: ['read'],
};

export interface Member {
  personId: number;
  email: string;
  name: string;
  role: Role;
  since: Date;
}

/** An account of a person. */
export interface Membership {
  accountId: number;
  accountName: string;
  role: Role;
  isActive: boolean;
  /** Whether its pages require a session by OpenID Connect. */
  requiresSso: boolean;
}

/** Returns the members of a live account, the oldest first. */
export function listMembers(database: Queryable, accountId: number) {
  return allRows<Member>(
    database,
    `select p.id as "personId", p.email, p.name, m.role, m.created_at as since
     from members m join people p on p.id = m.person_id where m.account_id = $1 order by m.created_at, p.id`,
    [accountId],
  );
}

/** Returns the accounts of a person, the oldest first. */
export function membershipsOf(database: Queryable, personId: number) {
  return allRows<Membership>(
    database,
    `select a.id as "accountId", a.name as "accountName", m.role, a.state = 'active' as "isActive",
       a.sso_required as "requiresSso"
     from members m join accounts a on a.id = m.account_id where m.person_id = $1 order by a.id`,
    [personId],
  );
}

/** Locks a live account until the transaction ends, so that its members stay the same. @returns the role of a person; null: no member. */
export async function lockedRole(
  client: ClientBase,
  { accountId, personId }: { accountId: number; personId: number },
): Promise<Role | null> {
  await lockAccount(client, accountId);
  const member = await firstRow<{ role: Role }>(
    client,
    'select role from members where account_id = $1 and person_id = $2',
    [accountId, personId],
  );
  return member?.role ?? null;
}

/** Returns the names of the accounts that a person alone owns. Locks them, so that no other owner leaves meanwhile. */
export async function soleOwnerships(client: ClientBase, personId: number): Promise<string[]> {
  await client.query(
    `select 1 from accounts a join members m on m.account_id = a.id and m.person_id = $1 and m.role = 'owner'
     order by a.id for no key update of a`,
    [personId],
  );
  const { rows } = await client.query<{ name: string }>(
    `select a.name from members m join accounts a on a.id = m.account_id
     where m.person_id = $1 and m.role = 'owner' and not exists (
       select from members o where o.account_id = m.account_id and o.role = 'owner' and o.person_id <> $1)
     order by a.id`,
    [personId],
  );
  return rows.map(({ name }) => name);
}

/** The change would leave an account without an owner. */
export class LastOwner extends Error {}

/** Makes a person a member with a role, or gives a member another role. */
export async function setMember(
  client: ClientBase,
  { accountId, personId, role }: { accountId: number; personId: number; role: Role },
  now: number,
): Promise<void> {
  await lockAccount(client, accountId);
  await client.query(
    `insert into members (account_id, person_id, role, created_at) values ($1, $2, $3, $4)
     on conflict (account_id, person_id) do update set role = excluded.role`,
    [accountId, personId, role, new Date(now)],
  );
  await requireOwner(client, accountId);
  // Keys of pages are made again with the scopes of the new role.
  await endPages(client, accountId, personId);
  if (!isAble(role, 'keys')) await endConnections(client, { accountId, personId }, now);
}

/**
 * Removes a member, whose pages and connections of this account end.
 * @returns false if the person is no member. @throws LastOwner.
 */
export function removeMember(
  database: Transactable,
  { accountId, personId }: { accountId: number; personId: number },
  now: number,
): Promise<boolean> {
  return inTransaction(database, async (client) => {
    await lockAccount(client, accountId);
    const { rowCount } = await client.query('delete from members where account_id = $1 and person_id = $2', [
      accountId,
      personId,
    ]);
    if (rowCount === 0) return false;
    await requireOwner(client, accountId);
    await endPages(client, accountId, personId);
    await endConnections(client, { accountId, personId }, now);
    // Sessions go on for a person who has pages of other accounts open.
    await client.query(
      `delete from web_sessions where person_id = $1
         and (account_id = $2 or not exists (select from members where person_id = $1))`,
      [personId, accountId],
    );
    return true;
  });
}

/** Ends the connections that a person has to an account and its test account: the programs are those of the person. */
async function endConnections(
  client: ClientBase,
  { accountId, personId }: { accountId: number; personId: number },
  now: number,
): Promise<void> {
  await client.query(
    `update api_keys set revoked_at = coalesce(revoked_at, $3)
     where person_id = $2 and id in (select key_id from connections)
       and account_id in (select id from accounts where id = $1 or live_account_id = $1)`,
    [accountId, personId, new Date(now)],
  );
}

async function requireOwner(client: ClientBase, accountId: number): Promise<void> {
  const { rowCount } = await client.query(
    "select from members where account_id = $1 and role = 'owner' limit 1",
    [accountId],
  );
  if (rowCount === 0) throw new LastOwner();
}

/**
 * Ends the access of pages to an account and to its test account. The sessions themselves go on, because their people may be
 * members of other accounts.
 * @param personId of one person. Default: everybody.
 */
export async function endPages(
  database: Queryable,
  liveAccountId: number,
  personId: number | null = null,
): Promise<void> {
  await database.query(
    `delete from api_keys where purpose = 'pages' and ($2::bigint is null or person_id = $2)
       and account_id in (select id from accounts where id = $1 or live_account_id = $1)`,
    [liveAccountId, personId],
  );
}
