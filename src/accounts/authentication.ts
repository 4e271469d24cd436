import { MicroBatcher } from '../platform/db/micro-batcher.ts';
import type { Database } from '../platform/db/pool.ts';
import { SoukError } from '../platform/errors.ts';
import { recentlyUsed } from '../platform/recently-used.ts';
import type { CallEvents } from '../platform/telemetry/call-events.ts';

/** Limits memory use. A key that is evicted is looked up again. */
const MAX_KNOWN_KEYS = 50_000;

/** Finds the account of a key. */
export interface Authentication {
  /** Looks the key up in the database. @throws SoukError KEY_INVALID or KEY_FORBIDDEN. */
  accountOf(keyHash: Buffer): Promise<number>;
  /**
   * Returns the account of a key that this process has seen to be valid. The key may have been revoked since, so this only
   * permits reading the request; the admission of the call decides.
   */
  knownAccountOf(keyHash: Buffer): number | null;
  /** Forgets a key that turned out to be invalid. */
  forget(keyHash: Buffer): void;
}

interface KeyRow {
  idx: number;
  accountId: number | null;
  revoked: boolean;
  active: boolean;
}

export function createAuthentication(
  database: Database,
  now: () => number,
  events: CallEvents,
): Authentication {
  const batcher = new MicroBatcher<Buffer, KeyRow>(async (hashes) => {
    const { rows } = await database.query<KeyRow>({
      name: 'authenticate',
      text: `select q.idx::integer, k.account_id as "accountId", a.state = 'active' as active,
          k.revoked_at is not null or coalesce(k.expires_at <= $2, false) as revoked
        from unnest($1::bytea[]) with ordinality as q (hash, idx)
        left join api_keys k on k.hash = q.hash
        left join accounts a on a.id = k.account_id
        order by q.idx`,
      values: [hashes, new Date(now())],
    });
    return rows;
  });
  const known = recentlyUsed<string, number>(MAX_KNOWN_KEYS);
  return {
    knownAccountOf: (keyHash) => known.get(keyHash.toString('latin1')) ?? null,
    forget: (keyHash) => void known.delete(keyHash.toString('latin1')),
    async accountOf(keyHash) {
      const key = await batcher.submit(keyHash);
      if (key.accountId === null) throw unknownKey();
      if (key.revoked) throw revokedKey();
      if (!key.active) throw unavailableAccount();
      known.set(keyHash.toString('latin1'), key.accountId);
      events.emit({ type: 'key.accepted', keyHash });
      return key.accountId;
    },
  };
}

export const unknownKey = () => new SoukError('KEY_INVALID', { message: 'This API key does not exist.' });
export const revokedKey = () =>
  new SoukError('KEY_FORBIDDEN', { message: 'This API key has been revoked or has expired.' });
export const unavailableAccount = () =>
  new SoukError('KEY_FORBIDDEN', { message: 'The account of this API key is disabled or unavailable.' });
