import { randomUUID } from 'node:crypto';
import pRetry, { AbortError } from 'p-retry';
import { type Clock, sleep } from '../../platform/clock.ts';
import { SoukError } from '../../platform/errors.ts';
import { type Logger, maskSecrets } from '../../platform/log.ts';
import { BodyTooLargeError, type HttpClient, type HttpRequest, type HttpResponse } from '../http-client.ts';
import { type TokenBucket, type TokenReading, TokensAwaited } from '../token-bucket.ts';
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

/** What a call carries besides its parameters. */
export interface CallContext {
  signal: AbortSignal;
  /** Unix milliseconds by which the answer is wanted. */
  deadlineAt: number;
  /** Nobody waits for it: it leaves a reserve of tokens, and gives up at once while there are none. */
  readonly background: boolean;
  /** Told what each attempt has cost, in tokens. */
  onSpent?(tokens: number): void;
}

export interface KeepaCall {
  path: string;
  /** Query parameters; the key is added here and nowhere else. */
  params: Record<string, string | number>;
  /** Makes it a POST. */
  body?: unknown;
  /** Tokens it will probably cost. */
  cost: number;
  payload?: Payload;
}

export interface KeepaTransport {
  /** The parsed answer of a JSON call. @throws SoukError UPSTREAM_ERROR, UPSTREAM_TIMEOUT or BUSY; TokensAwaited in the background. */
  json(call: KeepaCall, context: CallContext): Promise<Envelope>;
  /** The bytes of a picture, unchecked. @throws like `json`. */
  picture(call: KeepaCall, context: CallContext): Promise<Buffer>;
}

/** Full-site lists take 20 MB; what is far beyond that is a fault. */
const MAX_JSON_BYTES = 128 * 1024 * 1024;
const MAX_PICTURE_BYTES = 10 * 1024 * 1024;

/** An answer that is spoiled on the way has cost its tokens all the same, so a call that costs many is tried once more only. */
const MANY_TOKENS = 50;

/** Waits before the second, third, ... attempt after a failure that may pass. */
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

  /** Sends a call when there are tokens for it, again when the provider answers that there were not enough. */
  async function attempt<T>(
    call: KeepaCall,
    context: CallContext,
    maxBytes: number,
    read: (response: HttpResponse) => Answer<T>,
  ): Promise<T> {
    for (;;) {
      const lease = await tokens.take(call.cost, context);
      let outcome: TokenReading | { spent: number } = { spent: 0 };
      let spent = 0;
      try {
        const request = requestOf(call, baseUrl, key);
        const response = await http.send({ ...request, signal: context.signal, maxBytes });
        if (response.status === 429) {
          outcome = exhausted(response);
          // The next turn of the loop must find the bucket empty.
          await lease.settle(outcome);
          continue;
        }
        const { result, reading } = read(response);
        outcome = reading ?? { spent: call.cost };
        spent = reading?.consumed ?? call.cost;
        return result;
      } catch (error) {
        if (error instanceof Refusal && error.reading) {
          outcome = error.reading;
          spent = error.reading.consumed ?? 0;
        }
        throw error;
      } finally {
        if (spent > 0) context.onSpent?.(spent);
        // Not awaited: a lease that is not settled runs out.
        void lease.settle(outcome).catch((error) => log.warn({ err: error }, 'settling tokens failed'));
      }
    }
  }

  async function send<T>(
    call: KeepaCall,
    context: CallContext,
    maxBytes: number,
    read: (response: HttpResponse) => Answer<T>,
  ): Promise<T> {
    const { signal } = context;
    const once = () =>
      attempt(call, context, maxBytes, read).catch((error: unknown) => {
        throw signal.aborted || !mayPass(error) ? new AbortError(error as Error) : error;
      });
    try {
      return await pRetry(once, {
        retries: call.cost >= MANY_TOKENS ? 1 : RETRY_DELAYS_MS.length,
        // The delays go by our clock, so that tests do not wait for them.
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
    // Upstream may repeat what it was sent, our key by itself included.
    const facts = { errorId, path, reason: maskSecrets(message).replaceAll(key, '***') };
    if (operatorMustAct) log.error(facts, 'the data provider does not accept our key');
    else log.warn(facts, 'the data provider failed');
    return new SoukError('UPSTREAM_ERROR', { metadata: { errorId }, cause: `${path}: ${facts.reason}` });
  }

  return {
    json: (call, context) =>
      send(call, context, MAX_JSON_BYTES, (response) => {
        const answer = readJson(response);
        if (call.payload) requirePayload(answer, call.payload);
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

/** Whether another attempt may succeed: not after a clear answer, a missing token or an answer beyond all bounds. */
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
