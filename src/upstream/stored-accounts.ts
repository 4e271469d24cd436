import { every } from '../platform/clock.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { sealColumn } from '../platform/db/seal-column.ts';
import { MINUTE_MS } from '../platform/durations.ts';
import { digestOf } from '../platform/fingerprint.ts';
import { polled } from '../platform/polled.ts';
import type { SecretBox } from '../platform/secret-box.ts';
import type { Stores } from '../platform/stores.ts';
import type { AccountState, PresentAccounts, ProviderAccount, UsableAccount } from './provider-accounts.ts';
import { type AccountTrouble, readAccountState, readTokens } from './token-bucket.ts';

/** How often workers read the accounts. */
const READ_EVERY_MS = 3_000;

/** How often a worker names the accounts of its setting, and after which time without that they count as removed. */
const NAMED_EVERY_MS = MINUTE_MS;
const FORGOTTEN_AFTER_MS = 3 * MINUTE_MS;

/** An account without its key. */
export interface StoredAccount {
  name: string;
  /** `environment`: the key is in the setting KEEPA_API_KEY. */
  source: 'console' | 'environment';
  state: AccountState;
  createdAt: Date;
}

const purposeOf = (provider: string, name: string) => `key of account ${name} at ${provider}`;

/** Returns the accounts at a provider, without those of settings that no worker has any more. */
export async function listAccounts(
  database: Queryable,
  provider: string,
  now: number,
): Promise<StoredAccount[]> {
  const { rows } = await database.query<StoredAccount>(
    `select name, case when key is null then 'environment' else 'console' end as source, state,
       created_at as "createdAt"
     from provider_accounts where provider = $1 and (key is not null or seen_at > $2)
     order by key is not null, created_at, name`,
    [provider, new Date(now - FORGOTTEN_AFTER_MS)],
  );
  return rows;
}

/** An account with its tokens and its health. */
export interface AccountReading extends StoredAccount {
  /** null if they are unknown. */
  tokens: { left: number; perMinute: number } | null;
  /** Calls under way. */
  underWay: number;
  trouble: AccountTrouble | null;
}

type ReadingDeps = Pick<Stores, 'database' | 'redis' | 'keys' | 'clock'>;

/** Reads the accounts at a provider with their tokens. */
export async function readAccounts(
  { database, redis, keys, clock }: ReadingDeps,
  provider: string,
): Promise<AccountReading[]> {
  const now = clock.now();
  const accounts = await listAccounts(database, provider, now);
  return Promise.all(
    accounts.map(async (account) => {
      const key = keys.tokens(provider, account.name);
      const [tokens, state] = await Promise.all([
        readTokens(redis, key, now),
        readAccountState(redis, key, now),
      ]);
      return { ...account, tokens, ...state };
    }),
  );
}

/** Returns the tokens of all active accounts; null if none are known. */
export function tokensOf(accounts: readonly AccountReading[]): AccountReading['tokens'] {
  const known = accounts.flatMap(({ state, tokens }) => (state === 'active' && tokens ? [tokens] : []));
  if (known.length === 0) return null;
  return {
    left: known.reduce((sum, { left }) => sum + left, 0),
    perMinute: known.reduce((sum, { perMinute }) => sum + perMinute, 0),
  };
}

/** @returns false if an account has this name or this key. */
export async function addAccount(
  database: Queryable,
  box: SecretBox,
  { provider, name, key, now }: ProviderAccount & { provider: string; now: number },
): Promise<boolean> {
  const digest = digestOf(key);
  // No worker has it in its setting any more.
  await database.query(
    `delete from provider_accounts where provider = $1 and (name = $2 or key_digest = $3) and key is null and seen_at <= $4`,
    [provider, name, digest, new Date(now - FORGOTTEN_AFTER_MS)],
  );
  const { rowCount } = await database.query(
    `insert into provider_accounts (provider, name, key, key_digest, created_at)
     select $1, $2, $3, $4, $5
     where not exists (select from provider_accounts where provider = $1 and key_digest = $4)
     on conflict (provider, name) do nothing`,
    [provider, name, box.seal(key, purposeOf(provider, name)), digest, new Date(now)],
  );
  return rowCount === 1;
}

/** @returns the state before, or null if there is no such account. */
export async function setAccountState(
  database: Queryable,
  { provider, name, state }: { provider: string; name: string; state: AccountState },
): Promise<AccountState | null> {
  const { rows } = await database.query<{ before: AccountState }>(
    `update provider_accounts a set state = $3
     from (select state as before from provider_accounts where provider = $1 and name = $2 for update) as b
     where a.provider = $1 and a.name = $2 returning before`,
    [provider, name, state],
  );
  return rows[0]?.before ?? null;
}

/** Removes an account that the console has added, with its key. @returns false if there is none, or it is active. */
export async function removeAccount(
  database: Queryable,
  { provider, name }: { provider: string; name: string },
): Promise<boolean> {
  const { rowCount } = await database.query(
    `delete from provider_accounts where provider = $1 and name = $2 and key is not null and state <> 'active'`,
    [provider, name],
  );
  return rowCount === 1;
}

/** Encrypts stored keys with the first key of the box. */
export function sealAccountKeys(database: Database, box: SecretBox): Promise<void> {
  const keys = { table: 'provider_accounts', column: 'key', subject: 'json_build_array(provider, name)' };
  return sealColumn(database, box, keys, ([provider, name]: [string, string]) => purposeOf(provider, name));
}

interface AccountsDeps extends Pick<Stores, 'database' | 'clock' | 'log'> {
  provider: string;
  /** The accounts of the setting KEEPA_API_KEY. */
  own: readonly ProviderAccount[];
  secretBox: SecretBox;
  /** Names the accounts of the setting to gateways, which do not have it. */
  isNaming: boolean;
  /** Receives an account that was added or became active while this process runs. */
  onAdded(account: ProviderAccount): void;
}

/** Follows the accounts that a worker may use: those of its setting, and those that the console has added. */
export async function followAccounts(
  deps: AccountsDeps,
): Promise<{ accounts: PresentAccounts; close(): Promise<void> }> {
  const { database, provider, own, clock, log, isNaming, onAdded } = deps;
  const initial = own.map((one) => ({ ...one, state: 'active' as const }));
  const accounts: PresentAccounts = { present: initial };
  let isRead = false;
  const reading = polled<readonly UsableAccount[]>(
    deps,
    {
      name: 'provider accounts',
      everyMs: READ_EVERY_MS,
      initial,
    },
    async () => {
      const found = await readUsable(deps);
      const wasActive = new Set(
        accounts.present.flatMap(({ name, state }) => (state === 'active' ? [name] : [])),
      );
      if (isRead)
        for (const one of found) if (one.state === 'active' && !wasActive.has(one.name)) onAdded(one);
      isRead = true;
      accounts.present = found;
      return found;
    },
  );
  const name = () => nameAccounts(database, { provider, own, now: clock.now() });
  const stopNaming = isNaming
    ? every(clock, NAMED_EVERY_MS, () =>
        name().catch((error) => log.warn({ err: error }, 'failed to name the accounts of KEEPA_API_KEY')),
      )
    : null;
  if (isNaming) await name();
  await reading.refresh();
  return {
    accounts,
    async close() {
      await reading.stop();
      await stopNaming?.();
    },
  };
}

/** Returns the accounts of the setting with their states, and those of the console whose keys can be opened. */
async function readUsable({
  database,
  provider,
  own,
  secretBox,
  log,
}: AccountsDeps): Promise<UsableAccount[]> {
  const { rows } = await database.query<{ name: string; key: string | null; state: AccountState }>({
    name: 'provider-accounts',
    text: 'select name, key, state from provider_accounts where provider = $1 order by created_at, name',
    values: [provider],
  });
  const stateOf = (name: string) => rows.find((row) => row.name === name)?.state ?? 'active';
  const usable = own.map((account) => ({ ...account, state: stateOf(account.name) }));
  for (const { name, key: stored, state } of rows) {
    if (stored === null || usable.some((one) => one.name === name)) continue;
    const key = secretBox.open(stored, purposeOf(provider, name));
    if (key === null) log.error({ account: name }, 'no key of SECRET_KEY opens the key of an account');
    else if (usable.every((one) => one.key !== key)) usable.push({ name, key, state });
  }
  return usable;
}

/** Notes which accounts the setting of this worker has. Their states stay. */
async function nameAccounts(
  database: Queryable,
  { provider, own, now }: { provider: string; own: readonly ProviderAccount[]; now: number },
): Promise<void> {
  await database.query(
    `insert into provider_accounts as a (provider, name, key_digest, created_at, seen_at)
     select $1, own.name, own.digest, $4, $4 from unnest($2::text[], $3::bytea[]) as own (name, digest)
     on conflict (provider, name) do update set key_digest = excluded.key_digest, seen_at = excluded.seen_at
       where a.key is null`,
    [provider, own.map((one) => one.name), own.map((one) => digestOf(one.key)), new Date(now)],
  );
}

/** Deletes accounts of settings that no worker has named for a day. */
export async function forgetAccounts(database: Queryable, before: Date): Promise<void> {
  await database.query('delete from provider_accounts where seen_at < $1', [before]);
}
