import { randomUUID } from 'node:crypto';
import pRetry, { AbortError } from 'p-retry';
import { type Clock, sleep } from '../../platform/clock.ts';
import { SoukError } from '../../platform/errors.ts';
import { type Logger, maskSecrets } from '../../platform/log.ts';
import type { ProviderOutcome } from '../../platform/telemetry/call-events.ts';
import { noteAnswer } from '../../results/cache.ts';
import {
  BodyTooLargeError,
  type Cancellable,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  RequestRejected,
  throwIfAborted,
} from '../http-client.ts';
import type { AccountLease, ProviderAccount, ProviderAccounts, UsableAccount } from '../provider-accounts.ts';
import { type AccountHealth, type TokenOutcome, TokensAwaited } from '../token-bucket.ts';
import {
  type Answer,
  type Envelope,
  exhausted,
  type Payload,
  Refusal,
  readJson,
  readPicture,
  requirePayload,
} from './answers.ts';

/** The context of an upstream request. */
export interface CallContext extends Cancellable {
  /** Deadline of the answer, Unix milliseconds. */
  deadlineAt: number;
  /** No request waits for the answer: the call leaves a reserve of tokens, and fails immediately without tokens. */
  readonly background: boolean;
  /** Called when an attempt has its tokens and is sent. */
  onSending?(): void;
  /** Called with the tokens that each attempt cost. */
  onSpent?(tokens: number): void;
}

export interface KeepaCall {
  path: string;
  /** Query parameters. Only the transport adds the key. */
  params: Record<string, string | number>;
  /** Body of a POST; without it the request is a GET. */
  body?: unknown;
  /** Expected tokens. */
  cost: number;
  payload?: Payload;
}

export interface KeepaTransport {
  /**
   * Returns the parsed answer. @throws SoukError UPSTREAM_ERROR, UPSTREAM_TIMEOUT or BUSY; RequestRejected; TokensAwaited in
   * the background.
   */
  json(call: KeepaCall, context: CallContext): Promise<Envelope>;
  /** Returns the bytes of a picture, unchecked. @throws like `json`. */
  picture(call: KeepaCall, context: CallContext): Promise<Buffer>;
  /** Asks for the tokens of an account, which costs nothing. A failure is only logged. */
  learn(account: ProviderAccount): Promise<void>;
}

/** How the provider has answered a request with an account. */
export interface AccountUse {
  account: string;
  outcome: ProviderOutcome;
  tokens: number;
}

/** Full-site lists take 20 MB; a much larger answer is an upstream error. */
const MAX_JSON_BYTES = 128 * 1024 * 1024;

const MAX_TOKEN_BYTES = 100_000;

const MAX_PICTURE_BYTES = 10 * 1024 * 1024;

/** A corrupted answer costs its tokens too, so a call that costs this many or more is retried only once. */
const MANY_TOKENS = 50;

/** Delays before the second, third, ... attempt after a temporary failure. */
const RETRY_DELAYS_MS = [100, 300, 700];

/** A request that had no answer for this long was not only late because its call was. */
const SLOW_MS = 10_000;

const TOKEN_QUESTION_MS = 10_000;

interface TransportDeps {
  baseUrl: string;
  http: HttpClient;
  accounts: ProviderAccounts;
  clock: Clock;
  log: Logger;
  /** Receives each use of an account that says something about it. */
  onUse?(use: AccountUse): void;
}

export function createKeepaTransport(deps: TransportDeps): KeepaTransport {
  const picture = { maxBytes: MAX_PICTURE_BYTES, read: readPicture };
  return {
    json: (call, context) =>
      send(deps, call, context, {
        maxBytes: MAX_JSON_BYTES,
        read(response) {
          const answer = readJson(response);
          if (call.payload) requirePayload(answer, call.payload);
          if (response.compressed) noteAnswer(answer.result, response.compressed);
          return answer;
        },
      }),
    picture: (call, context) => send(deps, call, context, picture),
    learn: (account) => learn(deps, account),
  };
}

/** How an answer is read. */
interface Reading<T> {
  maxBytes: number;
  read(response: HttpResponse): Answer<T>;
}

/** Sends a call, and again after a temporary failure. */
async function send<T>(
  deps: TransportDeps,
  call: KeepaCall,
  context: CallContext,
  reading: Reading<T>,
): Promise<T> {
  const { signal } = context;
  const failed: FailedOn = { last: null, avoided: new Set() };
  const once = () =>
    attempt(deps, call, context, { ...reading, failed }).catch((error: unknown) => {
      throw signal.aborted || !mayPass(error) ? new AbortError(error as Error) : error;
    });
  try {
    return await pRetry(once, {
      retries: call.cost >= MANY_TOKENS ? 1 : RETRY_DELAYS_MS.length,
      // Delays use the injected clock, so that tests do not wait.
      minTimeout: 0,
      maxTimeout: 0,
      onFailedAttempt: async ({ attemptNumber, retriesLeft }) => {
        // The last attempt takes another account, if there is one.
        if (retriesLeft === 1 && failed.last !== null) failed.avoided.add(failed.last);
        if (retriesLeft > 0) await sleep(deps.clock, RETRY_DELAYS_MS[attemptNumber - 1] ?? 0, signal);
      },
    });
  } catch (error) {
    throw publicError(deps, error, call, signal);
  }
}

/** The accounts on which a call has failed, by name. */
interface FailedOn {
  last: string | null;
  avoided: Set<string>;
}

/**
 * Sends a call when tokens are available, and again when the provider rejects it for lack of tokens or refuses the key of one of
 * several accounts.
 */
async function attempt<T>(
  deps: TransportDeps,
  call: KeepaCall,
  context: CallContext,
  reading: Reading<T> & { failed: FailedOn },
): Promise<T> {
  const { accounts } = deps;
  const { failed } = reading;
  for (;;) {
    throwIfAborted(context);
    const lease = await accounts.take(call.cost, context, failed.avoided);
    const { name } = lease.account;
    failed.last = name;
    try {
      const answer = await attemptWith(deps, lease, call, context, reading);
      if (answer !== 'limited') return answer.result;
    } catch (error) {
      if (!(error instanceof Refusal && error.operatorMustAct)) throw error;
      failed.avoided.add(name);
      const isOther = (one: UsableAccount) => one.state === 'active' && !failed.avoided.has(one.name);
      if (!accounts.list().some(isOther)) throw error;
    }
  }
}

/** Sends a call with an account. @returns `limited` if the account has no tokens. */
async function attemptWith<T>(
  { baseUrl, http, clock, log, onUse }: TransportDeps,
  lease: AccountLease,
  call: KeepaCall,
  context: CallContext,
  { maxBytes, read }: Reading<T>,
): Promise<Answer<T> | 'limited'> {
  const { account } = lease;
  const sentAt = clock.now();
  let outcome: TokenOutcome = { spent: 0 };
  let health: AccountHealth | null = null;
  let spent = 0;
  try {
    throwIfAborted(context);
    outcome = 'lost';
    context.onSending?.();
    const request = requestOf(call, baseUrl, account.key);
    const response = await http.send({ ...request, signal: context.signal, maxBytes });
    if (response.status === 429) {
      [outcome, health] = [exhausted(response), 'limited'];
      // The next attempt must find the bucket empty.
      await lease.settle(outcome, health);
      return 'limited';
    }
    const answer = read(response);
    [outcome, health] = [answer.reading ?? { spent: call.cost }, 'well'];
    spent = answer.reading?.consumed ?? call.cost;
    return answer;
  } catch (error) {
    health = healthOf(error, context.signal, clock.now() - sentAt);
    if (error instanceof Refusal && error.reading) {
      outcome = error.reading;
      spent = error.reading.consumed ?? 0;
    } else if (isUnsent(error)) outcome = { spent: 0 };
    throw error;
  } finally {
    if (spent > 0) context.onSpent?.(spent);
    if (health) onUse?.({ account: account.name, outcome: useOf(health), tokens: spent });
    // The transport does not wait for this: an unsettled lease expires, and counts as spent.
    void lease.settle(outcome, health).catch((error) => log.warn({ err: error }, 'failed to settle tokens'));
  }
}

/** What a failure says about the account; null: nothing. */
function healthOf(error: unknown, signal: AbortSignal, afterMs: number): AccountHealth | null {
  if (error instanceof Refusal && error.operatorMustAct) return 'refused';
  if (signal.aborted) return signal.reason instanceof SoukError && afterMs >= SLOW_MS ? 'timeout' : null;
  return mayPass(error) ? 'failed' : null;
}

const useOf = (health: AccountHealth): ProviderOutcome =>
  health === 'well' || health === 'works again' ? 'answered' : health;

/** Asks for the tokens of an account. */
async function learn(
  { baseUrl, http, accounts, log }: TransportDeps,
  account: ProviderAccount,
): Promise<void> {
  const bucket = accounts.bucketOf(account);
  const { name, key } = account;
  try {
    const signal = AbortSignal.timeout(TOKEN_QUESTION_MS);
    const request = requestOf({ path: 'token', params: {}, cost: 0 }, baseUrl, key);
    const { reading } = readJson(await http.send({ ...request, signal, maxBytes: MAX_TOKEN_BYTES }));
    await bucket.record(reading ?? { spent: 0 }, 'works again');
  } catch (error) {
    const isRefused = error instanceof Refusal && error.operatorMustAct;
    const reason = accounts.withoutKeys(maskSecrets(describe(error).message)).replaceAll(key, '***');
    log[isRefused ? 'error' : 'warn']({ account: name, reason }, 'failed to request the number of tokens');
    await bucket.record({ spent: 0 }, isRefused ? 'refused' : 'failed').catch(() => {});
  }
}

/** Returns the public error of a failure, and logs the reason. */
function publicError(
  { accounts, log }: TransportDeps,
  error: unknown,
  { path }: KeepaCall,
  signal: AbortSignal,
): Error {
  if (error instanceof TokensAwaited) return error;
  if (signal.aborted) return new SoukError('UPSTREAM_TIMEOUT', { cause: error });
  if (error instanceof SoukError) return error;
  const errorId = randomUUID();
  const { message, operatorMustAct } = describe(error);
  // Upstream's message may repeat the request, including our key.
  const facts = { errorId, path, reason: accounts.withoutKeys(maskSecrets(message)) };
  if (operatorMustAct) log.error(facts, 'data provider rejected the API key');
  else log.warn(facts, 'data provider request failed');
  const details = { metadata: { errorId }, cause: `${path}: ${facts.reason}` };
  return error instanceof Refusal && error.isForValue
    ? new RequestRejected('UPSTREAM_ERROR', details)
    : new SoukError('UPSTREAM_ERROR', details);
}

function requestOf(
  { path, params, body }: KeepaCall,
  baseUrl: string,
  key: string,
): Pick<HttpRequest, 'method' | 'url' | 'body'> {
  const url = new URL(`${baseUrl}/${path}`);
  url.searchParams.set('key', key);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, String(value));
  return body === undefined ? { method: 'GET', url } : { method: 'POST', url, body };
}

/** Errors of connections that were not opened: the provider has not received the call. */
const UNSENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function isUnsent(error: unknown): boolean {
  return UNSENT.has((error as NodeJS.ErrnoException).code ?? '');
}

/** Returns whether a retry may succeed: not after a definite refusal, without tokens, or after an oversized answer. */
function mayPass(error: unknown): boolean {
  if (error instanceof Refusal) return error.mayPass;
  return !(
    error instanceof SoukError ||
    error instanceof BodyTooLargeError ||
    error instanceof TokensAwaited
  );
}

function describe(error: unknown): { message: string; operatorMustAct: boolean } {
  if (error instanceof Refusal) return { message: error.message, operatorMustAct: error.operatorMustAct };
  const { message, cause } = error as Error;
  return {
    message: cause instanceof Error ? `${message}: ${cause.message}` : String(message),
    operatorMustAct: false,
  };
}
