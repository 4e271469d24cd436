import { type Clock, sleep } from '../platform/clock.ts';
import { SoukError } from '../platform/errors.ts';
import type { Redis } from '../platform/redis.ts';
import type { RedisKeys } from '../platform/redis-keys.ts';
import { beforeSending, type Cancellable } from './http-client.ts';
import {
  createTokenBucket,
  LONGEST_SLEEP_MS,
  type TokenBucket,
  type TokenLease,
  TokensAwaited,
  type TokenWait,
} from './token-bucket.ts';

/** An account of the operator at the provider of product data. */
export interface ProviderAccount {
  name: string;
  key: string;
}

export const ACCOUNT_NAME = /^[a-z0-9][a-z0-9-]{0,29}$/;

/** The keys of the provider have 64 letters and digits; those of others may have signs. */
export const PROVIDER_KEY = /^[\x21-\x2b\x2d-\x39\x3b-\x7e]{1,200}$/;

/** `draining`: only calls that have used the account before go on with it. A paused account is not used. */
export const ACCOUNT_STATES = ['active', 'draining', 'paused'] as const;

export type AccountState = (typeof ACCOUNT_STATES)[number];

export interface UsableAccount extends ProviderAccount {
  state: AccountState;
}

/** The accounts that may be used now, which change while the process runs. */
export interface PresentAccounts {
  present: readonly UsableAccount[];
}

/** Tokens of an account, taken for a call in progress. */
export interface AccountLease extends TokenLease {
  account: ProviderAccount;
}

/** The operator's accounts at the provider. Each has a token bucket; a call uses the account that can answer first. */
export interface ProviderAccounts {
  /**
   * Waits until the call may be sent with an account. A call keeps its account, which is known by `options`, while that has
   * tokens and is not set aside.
   * @param avoided names of accounts on which the call has failed; they are used only if there is no other.
   * @throws SoukError BUSY if no account is expected to have tokens before `deadlineAt`; TokensAwaited if a background call
   *   would have to wait; a signal's reason when it aborts.
   */
  take(
    cost: number,
    options: Cancellable & { deadlineAt: number; readonly background: boolean },
    avoided?: ReadonlySet<string>,
  ): Promise<AccountLease>;
  /** Returns the bucket of an account. */
  bucketOf(account: ProviderAccount): TokenBucket;
  list(): readonly UsableAccount[];
  /** Replaces the keys of accounts in a text. */
  withoutKeys(text: string): string;
}

interface AccountsDeps {
  redis: Redis;
  keys: RedisKeys;
  /** The name of the provider. */
  provider: string;
  clock: Clock;
  accounts: PresentAccounts;
  /** An account that was set aside may work again: the provider is to be asked. */
  onDue(account: ProviderAccount): void;
}

/** How long an account that was set aside is tried after all others. */
const LOOK_AGAIN_MS = 1_000;

/** How long a background call waits for an account to become active. */
const NO_ACCOUNT_MS = 5_000;

/** A call that needs tokens. */
interface Attempted {
  cost: number;
  background: boolean;
  /** In the order in which they are tried. */
  usable: readonly UsableAccount[];
}

export function createProviderAccounts(deps: AccountsDeps): ProviderAccounts {
  const { redis, keys, provider, clock, accounts, onDue } = deps;
  const buckets = new Map<string, TokenBucket>();
  const knownKeys = new Set<string>();
  /** The account of each call. */
  const kept = new WeakMap<object, string>();
  /** When an account that had no tokens is expected to have some, by kind of call and name. It only sets the order of attempts. */
  const expectedAt = new Map<string, number>();
  let turn = 0;

  function bucketOf({ name }: ProviderAccount): TokenBucket {
    const known = buckets.get(name);
    if (known) return known;
    const bucket = createTokenBucket(redis, keys.tokens(provider, name), clock);
    buckets.set(name, bucket);
    return bucket;
  }

  /** The accounts of a call: its own first, then those with tokens in turn, then the others by their next tokens. */
  function inOrder(context: object, background: boolean, avoided: ReadonlySet<string>): UsableAccount[] {
    const own = kept.get(context);
    const mayUse = ({ name, state }: UsableAccount) =>
      state === 'active' || (state === 'draining' && name === own);
    const usable = accounts.present.filter(mayUse);
    for (const { key } of usable) knownKeys.add(key);
    const others = usable.filter(({ name }) => !avoided.has(name));
    const all = others.length > 0 ? others : usable;
    if (all.length < 2) return all;
    turn = (turn + 1) % all.length;
    const now = clock.now();
    const rank = ({ name }: UsableAccount) => Math.max(now, expectedAt.get(`${background}:${name}`) ?? 0);
    return [...all.slice(turn), ...all.slice(0, turn)].sort(
      (a, b) => Number(b.name === own) - Number(a.name === own) || rank(a) - rank(b),
    );
  }

  /** Takes tokens of the first account that has some. @returns the shortest wait otherwise. */
  async function tryEach(
    { cost, background, usable }: Attempted,
    evenIfSetAside: boolean,
  ): Promise<AccountLease | { waitMs: number; areAllSetAside: boolean }> {
    const waits: TokenWait[] = [];
    for (const account of usable) {
      const taken = await bucketOf(account).take(cost, { background, evenIfSetAside });
      if ('settle' in taken) return { account, settle: taken.settle };
      waits.push(taken);
      // Another process may learn that an account works again.
      const restMs = taken.setAside ? Math.min(taken.waitMs, LOOK_AGAIN_MS) : taken.waitMs;
      expectedAt.set(`${background}:${account.name}`, clock.now() + restMs);
      if (taken.setAside === 'due') onDue(account);
    }
    if (waits.length === 0) return { waitMs: NO_ACCOUNT_MS, areAllSetAside: false };
    const waitMs = Math.min(...waits.map((wait) => wait.waitMs));
    return { waitMs, areAllSetAside: waits.every(({ setAside }) => setAside !== false) };
  }

  async function takeNow(call: Attempted): ReturnType<typeof tryEach> {
    const taken = await tryEach(call, call.usable.length === 1);
    // If all accounts were set aside, the provider may be the cause, and any of them may answer.
    return 'settle' in taken || !taken.areAllSetAside ? taken : tryEach(call, true);
  }

  return {
    async take(cost, options, avoided = new Set()) {
      for (;;) {
        const { deadlineAt, background } = options;
        const usable = inOrder(options, background, avoided);
        const taken = await takeNow({ cost, background, usable });
        if ('settle' in taken) {
          kept.set(options, taken.account.name);
          return taken;
        }
        const { waitMs } = taken;
        if (background) throw new TokensAwaited(waitMs);
        const hasAccount = usable.length > 0;
        if (!hasAccount || clock.now() + waitMs > deadlineAt) throw tooFewTokens(waitMs, hasAccount);
        await sleep(clock, Math.min(waitMs, LONGEST_SLEEP_MS), beforeSending(options), 'token refill');
      }
    },
    bucketOf,
    list: () => accounts.present,
    withoutKeys: (text) => [...knownKeys].reduce((rest, key) => rest.replaceAll(key, '***'), text),
  };
}

function tooFewTokens(waitMs: number, hasAccount: boolean): SoukError {
  return new SoukError('BUSY', {
    message: hasAccount
      ? 'Too few tokens of the data provider are left to answer this call in time.'
      : 'No account at the data provider is active.',
    retryAfterSeconds: Math.ceil(waitMs / 1000),
  });
}
