import type { ClientBase } from 'pg';
import type { Queryable } from '../platform/db/pool.ts';
import { hasRow } from '../platform/db/rows.ts';
import { inTransaction, type Transactable } from '../platform/db/transaction.ts';
import { createAccount, lockAccount } from './accounts.ts';
import { endPages } from './members.ts';
import { endPasswordResets } from './passwords.ts';
import { endEmailConfirmations } from './people.ts';

/** Somebody as an OpenID Connect provider knows them. Issuer and subject never change; the address may. */
export interface Identity {
  issuer: string;
  subject: string;
  /** In lower case; null: the provider has not verified it. */
  email: string | null;
  name: string;
}

/**
 * The person of an identity, and what has changed: the person is new, or linked with the identity, or has another address. `unverified`: the provider has not verified the address. `unconfirmed`: somebody has signed up with
 * the address and has not confirmed it. `taken`: the address is that of a person with another identity. `unknown`: there is
 * no such person, and none may be created.
 */
export type IdentityOwner =
  | { kind: 'person'; personId: number; change: 'created' | 'linked' | 'address' | null }
  | { kind: 'unverified' | 'unconfirmed' | 'taken' | 'unknown' };

interface FoundPerson {
  id: number;
  email: string;
  isConfirmed: boolean;
  subject: string | null;
  issuer: string | null;
}

const PERSON = `select id, email, email_confirmed_at is not null as "isConfirmed",
  oidc_subject as subject, oidc_issuer as issuer from people`;

/**
 * Finds the person of an identity. Without one, links the identity to the person with its verified address, or creates a person
 * with an account if that is allowed. An address that was never confirmed is not linked: somebody else may have signed up with it.
 */
export function ownerOfIdentity(
  database: Transactable,
  identity: Identity,
  { now, mayCreate }: { now: number; mayCreate: boolean },
): Promise<IdentityOwner> {
  return inTransaction(database, (client) => find(client));

  async function find(client: ClientBase): Promise<IdentityOwner> {
    const { issuer, subject, email, name } = identity;
    const { rows } = await client.query<FoundPerson>(
      `${PERSON} where oidc_issuer = $1 and oidc_subject = $2 for update`,
      [issuer, subject],
    );
    const [own] = rows;
    if (own) return follow(client, own, email, now);
    if (email === null) return { kind: 'unverified' };
    const { rows: found } = await client.query<FoundPerson>(`${PERSON} where email = $1 for update`, [email]);
    const [same] = found;
    if (same) return link(client, same, identity);
    if (!mayCreate) return { kind: 'unknown' };
    const created = await createAccount(client, email, name, now);
    // Another request has created the person meanwhile.
    if (!created) return find(client);
    await client.query(
      'update people set oidc_issuer = $2, oidc_subject = $3, email_confirmed_at = $4 where id = $1',
      [created.ownerId, issuer, subject, new Date(now)],
    );
    return { kind: 'person', personId: created.ownerId, change: 'created' };
  }
}

async function link(
  client: ClientBase,
  person: FoundPerson,
  { issuer, subject }: Identity,
): Promise<IdentityOwner> {
  const isSame = person.issuer === issuer && person.subject === subject;
  if (person.subject !== null && !isSame) return { kind: 'taken' };
  if (!person.isConfirmed) return { kind: 'unconfirmed' };
  await client.query('update people set oidc_issuer = $2, oidc_subject = $3 where id = $1', [
    person.id,
    issuer,
    subject,
  ]);
  return { kind: 'person', personId: person.id, change: isSame ? null : 'linked' };
}

/**
 * Gives a person the address that the provider has verified, unless somebody else has it. Links that were sent to the earlier
 * address are no longer valid.
 */
async function follow(
  client: ClientBase,
  { id, email: present }: FoundPerson,
  email: string | null,
  now: number,
): Promise<IdentityOwner> {
  let hasMoved = false;
  if (email !== null) {
    const { rowCount } = await client.query(
      `update people set email = $2,
         email_confirmed_at = case when email = $2 then coalesce(email_confirmed_at, $3) else $3 end
       where id = $1 and not exists (select from people where email = $2 and id <> $1)`,
      [id, email, new Date(now)],
    );
    hasMoved = rowCount === 1 && email !== present;
    if (hasMoved) {
      await endEmailConfirmations(client, id);
      await endPasswordResets(client, id);
    }
  }
  return { kind: 'person', personId: id, change: hasMoved ? 'address' : null };
}

/** Unlinks a person from the identity, so that a sign-in with the address can link another one. @returns false if the person had none. */
export function unlinkIdentity(database: Queryable, personId: number) {
  return hasRow(
    database,
    'update people set oidc_issuer = null, oidc_subject = null where id = $1 and oidc_subject is not null',
    [personId],
  );
}

/** Whether the members of a live account have to sign in by OpenID Connect. */
export function requiresSingleSignOn(database: Queryable, accountId: number) {
  return hasRow(database, 'select from accounts where id = $1 and sso_required', [accountId]);
}

/**
 * Sets whether members have to sign in by OpenID Connect to see the pages of an account. The keys of its pages end, so that
 * sessions without it lose them.
 */
export function requireSingleSignOn(
  database: Transactable,
  accountId: number,
  isRequired: boolean,
): Promise<void> {
  return inTransaction(database, async (client) => {
    await lockAccount(client, accountId);
    await client.query('update accounts set sso_required = $2 where id = $1', [accountId, isRequired]);
    if (isRequired) await endPages(client, accountId);
  });
}
