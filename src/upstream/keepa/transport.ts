import { randomUUID } from 'node:crypto';
import pRetry, { AbortError } from 'p-retry';
import { type Clock, sleep } from '../../platform/clock.ts';
import { SoukError } from '../../platform/errors.ts';
import { type Logger, maskSecrets } from '../../platform/log.ts';
import { noteAnswer } from '../../results/provider-answers.ts';
import { type Cancellable, throwIfAborted } from '../cancellation.ts';
import { BodyTooLargeError, type HttpClient, type HttpRequest, type HttpResponse } from '../http-client.ts';
import { RequestRejected } from '../request-rejected.ts';
import type { TokenOutcome } from '../token-bucket.ts';
import { type TokenBucket, TokensAwaited } from '../token-bucket.ts';
import {
  type Answer,
  exhausted,
  type Payload,
  Refusal,
  readJson,
  readPicture,
  requirePayload,
} from './answer.ts';
import type { Envelope } from './envelope.ts';

/** The context of an upstream request. */
export interface CallContext extends Cancellable {
  /** Deadline of the answer, Unix milliseconds. */
  deadlineAt: number;
  /** No request waits for the answer: the call leaves a reserve of tokens, and fails at once without tokens. */
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
}

/** Full-site lists take 20 MB; a much larger answer is an upstream error. */
const MAX_JSON_BYTES = 128 * 1024 * 1024;
const MAX_PICTURE_BYTES = 10 * 1024 * 1024;

/** A corrupted answer costs its tokens too, so a call that costs this many or more is retried only once. */
const MANY_TOKENS = 50;

/** Delays before the second, third, ... attempt after a temporary failure. */
const RETRY_DELAYS_MS = [100, 300, 700];

export function createKeepaTransport(deps: {
  baseUrl: string;
  key: string;
  http: HttpClient;
  tokens: TokenBucket;
  clock: Clock;
  log: Logger;
}): KeepaTransport {
  const { baseUrl, key, http, tokens, clock, log } = deps;

  /** Sends a call when tokens are available, and again when the provider rejects it for lack of tokens. */
  async function attempt<T>(
    call: KeepaCall,
    context: CallContext,
    maxBytes: number,
    read: (response: HttpResponse) => Promise<Answer<T>>,
  ): Promise<T> {
    for (;;) {
      throwIfAborted(context);
      const lease = await tokens.take(call.cost, context);
      let outcome: TokenOutcome = { spent: 0 };
      let spent = 0;
      try {
        throwIfAborted(context);
        outcome = 'lost';
        context.onSending?.();
        const request = requestOf(call, baseUrl, key);
        const response = await http.send({ ...request, signal: context.signal, maxBytes });
        if (response.status === 429) {
          outcome = await exhausted(response);
          // The next iteration must find the bucket empty.
          await lease.settle(outcome);
          continue;
        }
        const { result, reading } = await read(response);
        outcome = reading ?? { spent: call.cost };
        spent = reading?.consumed ?? call.cost;
        return result;
      } catch (error) {
        if (error instanceof Refusal && error.reading) {
          outcome = error.reading;
          spent = error.reading.consumed ?? 0;
        } else if (isUnsent(error)) outcome = { spent: 0 };
        throw error;
      } finally {
        if (spent > 0) context.onSpent?.(spent);
        // The transport does not wait for this: an unsettled lease expires, and counts as spent.
        void lease.settle(outcome).catch((error) => log.warn({ err: error }, 'failed to settle tokens'));
      }
    }
  }

  async function send<T>(
    call: KeepaCall,
    context: CallContext,
    maxBytes: number,
    read: (response: HttpResponse) => Promise<Answer<T>>,
  ): Promise<T> {
    const { signal } = context;
    const once = () =>
      attempt(call, context, maxBytes, read).catch((error: unknown) => {
        throw signal.aborted || !mayPass(error) ? new AbortError(error as Error) : error;
      });
    try {
      return await pRetry(once, {
        retries: call.cost >= MANY_TOKENS ? 1 : RETRY_DELAYS_MS.length,
        // Delays use the injected clock, so that tests do not wait.
        minTimeout: 0,
        maxTimeout: 0,
        onFailedAttempt: async ({ attemptNumber, retriesLeft }) => {
          if (retriesLeft > 0) await sleep(clock, RETRY_DELAYS_MS[attemptNumber - 1] ?? 0, signal);
        },
      });
    } catch (error) {
      throw publicError(error, call, signal);
    }
  }

  function publicError(error: unknown, { path }: KeepaCall, signal: AbortSignal): Error {
    if (error instanceof TokensAwaited) return error;
    if (signal.aborted) return new SoukError('UPSTREAM_TIMEOUT', { cause: error });
    if (error instanceof SoukError) return error;
    const errorId = randomUUID();
    const { message, operatorMustAct } = describe(error);
    // Upstream's message may repeat the request, including our key.
    const facts = { errorId, path, reason: maskSecrets(message).replaceAll(key, '***') };
    if (operatorMustAct) log.error(facts, 'data provider rejected the API key');
    else log.warn(facts, 'data provider request failed');
    const details = { metadata: { errorId }, cause: `${path}: ${facts.reason}` };
    return error instanceof Refusal && error.isForValue
      ? new RequestRejected('UPSTREAM_ERROR', details)
      : new SoukError('UPSTREAM_ERROR', details);
  }

  return {
    json: (call, context) =>
      send(call, context, MAX_JSON_BYTES, async (response) => {
        const answer = await readJson(response);
        if (call.payload) requirePayload(answer, call.payload);
        if (response.compressed) noteAnswer(answer.result, response.compressed);
        return answer;
      }),
    picture: (call, context) => send(call, context, MAX_PICTURE_BYTES, readPicture),
  };
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
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
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
