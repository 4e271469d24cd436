import { randomUUID } from 'node:crypto';
import pRetry, { AbortError } from 'p-retry';
import { type Clock, sleep } from '../../platform/clock.ts';
import { SoukError } from '../../platform/errors.ts';
import { parseJson } from '../../platform/json.ts';
import { type Logger, maskSecrets } from '../../platform/log.ts';
import { BodyTooLargeError, type HttpClient, type HttpResponse } from '../http-client.ts';
import { type TokenBucket, type TokenReading, TokensAwaited } from '../token-bucket.ts';
import { type Envelope, isRecord, readEnvelope, tokenReading } from './envelope.ts';

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
  /** The field of the answer that was asked for. Without it the answer is malformed, unless there may be nothing. */
  payload?: { field: string; kind: 'list' | 'object'; mayBeAbsent: boolean };
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

  function urlOf({ path, params }: KeepaCall): URL {
    const url = new URL(`${baseUrl}/${path}`);
    url.searchParams.set('key', key);
    for (const [name, value] of Object.entries(params)) url.searchParams.set(name, String(value));
    return url;
  }

  /** One attempt, or several where tokens ran out between ours and the provider's count. */
  async function attempt<T>(
    call: KeepaCall,
    context: CallContext,
    maxBytes: number,
    read: (response: HttpResponse) => { result: T; reading: TokenReading | null },
  ): Promise<T> {
    for (;;) {
      const lease = await tokens.take(call.cost, context);
      let outcome: TokenReading | { spent: number } = { spent: 0 };
      let spent = 0;
      try {
        const { body } = call;
        const response = await http.send({
          method: body === undefined ? 'GET' : 'POST',
          url: urlOf(call),
          ...(body === undefined ? {} : { body }),
          signal: context.signal,
          maxBytes,
        });
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
        // Nobody has to wait for this; a lease that is not settled runs out.
        void lease.settle(outcome).catch((error) => log.warn({ err: error }, 'settling tokens failed'));
      }
    }
  }

  async function send<T>(
    call: KeepaCall,
    context: CallContext,
    maxBytes: number,
    read: (response: HttpResponse) => { result: T; reading: TokenReading | null },
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

/** The provider answered, but not with what was asked. */
class Refusal extends Error {
  readonly mayPass: boolean;
  readonly operatorMustAct: boolean;
  readonly reading: TokenReading | null;

  constructor(
    message: string,
    facts: { mayPass: boolean; operatorMustAct?: boolean; reading?: TokenReading | null },
  ) {
    super(message);
    this.mayPass = facts.mayPass;
    this.operatorMustAct = facts.operatorMustAct ?? false;
    this.reading = facts.reading ?? null;
  }
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

/** An error may come with any status, 200 included, and a body that is not JSON with any but 200. */
function readJson({ status, body }: HttpResponse): { result: Envelope; reading: TokenReading | null } {
  const envelope = parsed(body);
  const reading = envelope && tokenReading(envelope);
  if (status === 200 && envelope && !isRejected(envelope)) return { result: envelope, reading };
  const { type, message } = envelope?.error ?? {};
  const said = envelope?.error ? `${type ?? 'error'}: ${message ?? ''}` : 'no readable answer';
  throw new Refusal(`HTTP ${status}, ${said}`, {
    mayPass: status >= 500 || (status === 200 && envelope === null),
    // A wrong key is answered with 400 and a bucket of zeros, a key without access with 402.
    operatorMustAct: status === 402 || (status === 400 && envelope?.refillRate === 0),
    reading,
  });
}

/** That a list is missing does not say that it is empty: customers would pay for nothing, and it would be kept for an hour. */
function requirePayload(
  { result, reading }: { result: Envelope; reading: TokenReading | null },
  { field, kind, mayBeAbsent }: NonNullable<KeepaCall['payload']>,
): void {
  const value = result[field];
  if (kind === 'list' ? Array.isArray(value) : isRecord(value)) return;
  if (mayBeAbsent && (value === undefined || value === null)) return;
  throw new Refusal(`HTTP 200 without the ${kind} ${field}`, { mayPass: false, reading });
}

function readPicture(response: HttpResponse): { result: Buffer; reading: null } {
  const { status, contentType, body } = response;
  if (status === 200 && contentType.startsWith('image/')) return { result: body, reading: null };
  readJson({ ...response, status: status === 200 ? 400 : status });
  throw new Refusal(`HTTP ${status} without a picture`, { mayPass: false });
}

/** Some answers carry an error beside good data (sellers of whom some are unknown); those are answers. */
function isRejected(envelope: Envelope): boolean {
  return Boolean(envelope.error) && !Object.keys(envelope).some((field) => PAYLOAD_FIELDS.has(field));
}

const PAYLOAD_FIELDS = new Set([
  ...['products', 'categories', 'deals', 'bestSellersList', 'sellers', 'sellerIdList'],
  ...['asinList', 'searchInsights', 'lightningDeals'],
]);

function parsed(body: Buffer): Envelope | null {
  try {
    return readEnvelope(parseJson(body.toString('utf8')));
  } catch {
    return null;
  }
}

/** The reading of a 429; where it has none, the bucket counts as empty until the next full minute. */
function exhausted({ body }: HttpResponse): TokenReading {
  const envelope = parsed(body);
  const reading = envelope && tokenReading(envelope);
  return reading
    ? { ...reading, tokensLeft: Math.min(0, reading.tokensLeft), refillIn: reading.refillIn + 100 }
    : { tokensLeft: 0, refillRate: 1, refillIn: 60_000, timestamp: null };
}
