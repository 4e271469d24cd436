import type { ClientBase } from 'pg';
import { inTransaction, type Transactable } from '../platform/db/transaction.ts';
import { SoukError } from '../platform/errors.ts';
import { addKey } from './account-keys.ts';
import { lockAccount } from './accounts.ts';
import { liveAccountOf } from './authentication.ts';
import type { KeySettings } from './key-settings.ts';
import { isAble, type Membership, membershipsOf } from './members.ts';
import { decideOnce, keepClient } from './oauth-records.ts';

/** Who uses a connection. */
export interface ConnectionClient {
  id: string;
  /** As the client calls itself. */
  name: string;
  /** The host to which the person was sent back; null: a device. */
  redirectHost: string | null;
}

/** What a connection may do. It always ends. */
export type ConnectionSettings = KeySettings & { expiresAt: Date };

/** Whether a member may connect programs to an account. @param mayLackSso whether it may require a session by OpenID Connect. */
export function mayConnect({ role, isActive, requiresSso }: Membership, mayLackSso: boolean): boolean {
  return isActive && isAble(role, 'keys') && (mayLackSso || !requiresSso);
}

/**
 * Creates a connection: a key of the account that is never shown. Access tokens of the grant lead to it.
 * @returns the id of the key; null if the person has decided before, such as by a second click.
 * @throws SoukError KEY_FORBIDDEN if the person may not connect the account; LIMIT_REACHED.
 */
export function createConnection(
  database: Transactable,
  accountId: number,
  about: {
    settings: ConnectionSettings;
    personId: number;
    mayLackSso: boolean;
    grantId: string;
    /** The request of the client, which is decided once. */
    requestId: string;
    client: ConnectionClient;
    now: number;
  },
): Promise<number | null> {
  const { settings, personId, grantId, requestId, client, now } = about;
  return inTransaction(database, async (transaction) => {
    if (!(await decideOnce(transaction, requestId, now))) return null;
    await requireMembership(transaction, liveAccountOf(accountId), about);
    const { id } = await addKey(transaction, accountId, { settings, createdBy: null, personId, now });
    await transaction.query(
      `insert into connections (key_id, grant_id, client_id, client_name, redirect_host)
       values ($1, $2, $3, $4, $5)`,
      [id, grantId, client.id, client.name, client.redirectHost],
    );
    await keepClient(transaction, id);
    return id;
  });
}

/** The account stays locked, so that no member is removed or gets another role meanwhile. */
async function requireMembership(
  client: ClientBase,
  liveAccountId: number,
  { personId, mayLackSso }: { personId: number; mayLackSso: boolean },
): Promise<void> {
  await lockAccount(client, liveAccountId);
  const memberships = await membershipsOf(client, personId);
  const found = memberships.find(({ accountId }) => accountId === liveAccountId);
  if (!found || !mayConnect(found, mayLackSso))
    throw new SoukError('KEY_FORBIDDEN', { message: 'You may not connect programs to this account.' });
}
