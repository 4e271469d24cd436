import { MicroBatcher } from '../platform/db/micro-batcher.ts';
import type { Database } from '../platform/db/pool.ts';
import { SoukError } from '../platform/errors.ts';
import { recentlyUsed } from '../platform/recently-used.ts';
import type { CallEvents } from '../platform/telemetry/call-events.ts';
import { isInNetworks, type Network, networksOf } from './networks.ts';
import { isInScope, type KeyScopes, type Scope, scopeMissing } from './scopes.ts';

/** Limits memory use. A key that is evicted is looked up again. */
const MAX_KNOWN_KEYS = 50_000;

/** A key that was valid when it was looked up. */
export interface KnownKey {
  accountId: number;
  /** null: a key of the pages. */
  keyId: number | null;
  /** Changes with the limits of the key. Admission refuses a call whose caller has checked the limits of another version. */
  version: number;
  scopes: KeyScopes;
  /** null: any address. */
  networks: readonly Network[] | null;
}

/** Finds keys. */
export interface Authentication {
  /** Looks the key up in the database. @throws SoukError KEY_INVALID or KEY_FORBIDDEN. */
  find(keyHash: Buffer): Promise<KnownKey>;
  /**
   * Returns a key that this process has seen to be valid. The key may have been revoked or changed since, so this only
   * permits reading the request; the admission of the call decides.
   */
  known(keyHash: Buffer): KnownKey | null;
  /** Forgets a key that turned out to be invalid. */
  forget(keyHash: Buffer): void;
}

interface KeyRow extends Omit<KnownKey, 'accountId' | 'networks'> {
  idx: number;
  accountId: number | null;
  networks: readonly string[] | null;
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
          k.revoked_at is not null or coalesce(k.expires_at <= $2, false) as revoked,
          case when k.purpose = 'customer' then k.id end as "keyId", k.version, k.scopes, k.networks
        from unnest($1::bytea[]) with ordinality as q (hash, idx)
        left join api_keys k on k.hash = q.hash
        left join accounts a on a.id = k.account_id
        order by q.idx`,
      values: [hashes, new Date(now())],
    });
    return rows;
  });
  const known = recentlyUsed<string, KnownKey>(MAX_KNOWN_KEYS);
  return {
    known: (keyHash) => known.get(keyHash.toString('latin1')) ?? null,
    forget: (keyHash) => void known.delete(keyHash.toString('latin1')),
    async find(keyHash) {
      const { accountId, keyId, version, scopes, networks, revoked, active } = await batcher.submit(keyHash);
      if (accountId === null) throw unknownKey();
      if (revoked) throw revokedKey();
      if (!active) throw unavailableAccount();
      const key = { accountId, keyId, version, scopes, networks: networks && networksOf(networks) };
      known.set(keyHash.toString('latin1'), key);
      events.emit({ type: 'key.accepted', keyHash });
      return key;
    },
  };
}

/**
 * Returns why a key must not be used for a request; null if it may.
 * @param request its address is read only for a key with networks, because finding it out takes time.
 * @param anyOf the scopes of the route, of which the key needs one.
 */
export function refusalOf(
  { scopes, networks }: Pick<KnownKey, 'scopes' | 'networks'>,
  request: { readonly ip: string },
  anyOf: readonly Scope[],
): SoukError | null {
  if (networks && !isInNetworks(request.ip, networks))
    return new SoukError('KEY_ADDRESS_REFUSED', {
      message: `This API key must not be used from the address ${request.ip}.`,
      metadata: { address: request.ip },
    });
  return isInScope(scopes, anyOf) ? null : scopeMissing(anyOf);
}

/** The limits of a key have changed since they were checked. Nothing was admitted. */
export class KeyChanged extends SoukError {
  constructor() {
    super('BUSY', { message: 'The limits of this API key have just changed; retry.', retryAfterSeconds: 1 });
  }
}

export const unknownKey = () => new SoukError('KEY_INVALID', { message: 'This API key does not exist.' });
export const revokedKey = () =>
  new SoukError('KEY_FORBIDDEN', { message: 'This API key has been revoked or has expired.' });
export const unavailableAccount = () =>
  new SoukError('KEY_FORBIDDEN', { message: 'The account of this API key is disabled or unavailable.' });
