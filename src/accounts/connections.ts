import { inTransaction, type Transactable } from '../platform/db/transaction.ts';
import { digestOf } from '../platform/fingerprint.ts';
import { addKey } from './account-keys.ts';
import type { KeySettings } from './key-settings.ts';
import { CLIENT_KEPT_DAYS } from './oauth-records.ts';

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

/**
 * Creates a connection: a key of the account whose secret nobody has. Access tokens of the grant lead to it.
 * @returns the id of the key. @throws SoukError LIMIT_REACHED.
 */
export function createConnection(
  database: Transactable,
  accountId: number,
  about: {
    settings: ConnectionSettings;
    personId: number;
    grantId: string;
    client: ConnectionClient;
    now: number;
  },
): Promise<number> {
  const { settings, personId, grantId, client, now } = about;
  return inTransaction(database, async (transaction) => {
    const { id } = await addKey(transaction, accountId, { settings, createdBy: null, personId, now });
    await transaction.query(
      `insert into connections (key_id, grant_id, client_id, client_name, redirect_host)
       values ($1, $2, $3, $4, $5)`,
      [id, grantId, client.id, client.name, client.redirectHost],
    );
    // A registered client is kept for as long as its connections.
    await transaction.query(
      `update oauth_records set expires_at = greatest(expires_at, $2::timestamptz + make_interval(days => $3))
       where kind = 'Client' and id = $1`,
      [digestOf(client.id), settings.expiresAt, CLIENT_KEPT_DAYS],
    );
    return id;
  });
}
