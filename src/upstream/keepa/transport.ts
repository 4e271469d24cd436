import { randomUUID } from 'node:crypto';
import pRetry, { AbortError } from 'p-retry';
import { z } from 'zod';
import { isRecord } from '../../operations/params/request.ts';
import { type Clock, sleep } from '../../platform/clock.ts';
import { SoukError } from '../../platform/errors.ts';
import { parseJson } from '../../platform/json.ts';
import { type Logger, maskSecrets } from '../../platform/log.ts';
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
import { type TokenBucket, type TokenOutcome, type TokenReading, TokensAwaited } from '../token-bucket.ts';

/** The fields around the payload of an answer. Fields that upstream sometimes omits are optional. */
const schema = z.looseObject({
  timestamp: z.number().optional(),
  tokensLeft: z.number().optional(),
  refillIn: z.number().optional(),
  refillRate: z.number().optional(),
  tokenFlowReduction: z.number().optional(),
  tokensConsumed: z.number().optional(),
  error: z
    .looseObject({ type: z.string().nullish(), message: z.string().nullish(), details: z.string().nullish() })
    .nullish(),
});

type Envelope = z.output<typeof schema>;

/** @returns null if the value is not an answer of the provider. */
function readEnvelope(value: unknown): Envelope | null {
  const result = schema.safeParse(value);
  return result.success ? result.data : null;
}

/** Returns the token reading of an answer, or null. The answer to an incorrect key has only zeros and is no reading. */
function tokenReading(envelope: Envelope): TokenReading | null {
  const { tokensLeft, refillRate, refillIn, timestamp, tokenFlowReduction = 0, tokensConsumed } = envelope;
  if (tokensLeft === undefined || refillIn === undefined || !refillRate) return null;
  const netRate = refillRate - tokenFlowReduction;
  if (netRate <= 0) return null;
  return {
    tokensLeft,
    refillIn,
    refillRate: netRate,
    timestamp: timestamp ?? null,
    consumed: tokensConsumed,
  };
}

/** The result of an answer, with its reading of the token balance. */
interface Answer<T> {
  result: T;
  reading: TokenReading | null;
}

/** The field of an answer that holds the requested data. An answer without it is malformed, unless it may be absent. */
interface Payload {
  field: string;
  kind: 'list' | 'object';
  mayBeAbsent: boolean;
}

/** The provider answered without the requested data. */
class Refusal extends Error {
  readonly mayPass: boolean;
  /** A value in the request is the cause, so that a request with other values may succeed. */
  readonly isForValue: boolean;
  readonly operatorMustAct: boolean;
  readonly reading: TokenReading | null;

  constructor(
    message: string,
    facts: {
      mayPass: boolean;
      isForValue?: boolean;
      operatorMustAct?: boolean;
      reading?: TokenReading | null;
    },
  ) {
    super(message);
    this.mayPass = facts.mayPass;
    this.isForValue = facts.isForValue ?? false;
    this.operatorMustAct = facts.operatorMustAct ?? false;
    this.reading = facts.reading ?? null;
  }
}

/** Parses an answer. Errors come with any status, including 200; a body that is not JSON with any status but 200. */
function readJson({ status, body }: HttpResponse): Answer<Envelope> {
  const envelope = parsed(body);
  const reading = envelope && tokenReading(envelope);
  if (status === 200 && envelope && !isRejected(envelope)) return { result: envelope, reading };
  const { type, message } = envelope?.error ?? {};
  const said = envelope?.error ? `${type ?? 'error'}: ${message ?? ''}` : 'no readable answer';
  // The provider answers an incorrect key with 400 and a bucket of zeros, and a key without access with 402.
  const operatorMustAct = status === 402 || (status === 400 && envelope?.refillRate === 0);
  throw new Refusal(`HTTP ${status}, ${said}`, {
    mayPass: status >= 500 || (status === 200 && envelope === null),
    isForValue: !operatorMustAct && [200, 400, 405].includes(status) && envelope !== null,
    operatorMustAct,
    reading,
  });
}

/** Rejects a missing list: treated as empty, it would be charged and cached for an hour. */
function requirePayload({ result, reading }: Answer<Envelope>, { field, kind, mayBeAbsent }: Payload): void {
  const value = result[field];
  if (kind === 'list' ? Array.isArray(value) : isRecord(value)) return;
  if (mayBeAbsent && (value === undefined || value === null)) return;
  throw new Refusal(`HTTP 200 without the ${kind} ${field}`, { mayPass: false, reading });
}

function readPicture(response: HttpResponse): Answer<Buffer> {
  const { status, contentType, body } = response;
  if (status === 200 && contentType.startsWith('image/')) return { result: body, reading: null };
  readJson({ ...response, status: status === 200 ? 400 : status });
  throw new Refusal(`HTTP ${status} without a picture`, { mayPass: false });
}

/** Returns whether an error makes the answer useless. Some errors accompany good data, such as one unknown seller. */
function isRejected(envelope: Envelope): boolean {
  return Boolean(envelope.error) && !Object.keys(envelope).some((field) => PAYLOAD_FIELDS.has(field));
}

const PAYLOAD_FIELDS = new Set([
  'products',
  'categories',
  'deals',
  'bestSellersList',
  'sellers',
  'sellerIdList',
  'asinList',
  'searchInsights',
  'lightningDeals',
]);

function parsed(body: Buffer): Envelope | null {
  try {
    return readEnvelope(parseJson(body.toString()));
  } catch {
    return null;
  }
}

/** Returns the reading of a 429; without a reading the bucket counts as empty until the next full minute. */
function exhausted({ body }: HttpResponse): TokenReading {
  const envelope = parsed(body);
  const reading = envelope && tokenReading(envelope);
  return reading
    ? { ...reading, tokensLeft: Math.min(0, reading.tokensLeft), refillIn: reading.refillIn + 100 }
    : { tokensLeft: 0, refillRate: 1, refillIn: 60_000, timestamp: null };
}

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
}

/** Full-site lists take 20 MB; a much larger answer is an upstream error. */
const MAX_JSON_BYTES = 128 * 1024 * 1024;

const MAX_PICTURE_BYTES = 10 * 1024 * 1024;

/** A corrupted answer costs its tokens too, so a call that costs this many or more is retried only once. */
const MANY_TOKENS = 50;

/** Delays before the second, third, ... attempt after a temporary failure. */
const RETRY_DELAYS_MS = [100, 300, 700];

interface TransportDeps {
  baseUrl: string;
  key: string;
  http: HttpClient;
  tokens: TokenBucket;
  clock: Clock;
  log: Logger;
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
  const once = () =>
    attempt(deps, call, context, reading).catch((error: unknown) => {
      throw signal.aborted || !mayPass(error) ? new AbortError(error as Error) : error;
    });
  try {
    return await pRetry(once, {
      retries: call.cost >= MANY_TOKENS ? 1 : RETRY_DELAYS_MS.length,
      // Delays use the injected clock, so that tests do not wait.
      minTimeout: 0,
      maxTimeout: 0,
      onFailedAttempt: async ({ attemptNumber, retriesLeft }) => {
        if (retriesLeft > 0) await sleep(deps.clock, RETRY_DELAYS_MS[attemptNumber - 1] ?? 0, signal);
      },
    });
  } catch (error) {
    throw publicError(deps, error, call, signal);
  }
}

/** Sends a call when tokens are available, and again when the provider rejects it for lack of tokens. */
async function attempt<T>(
  { baseUrl, key, http, tokens, log }: TransportDeps,
  call: KeepaCall,
  context: CallContext,
  { maxBytes, read }: Reading<T>,
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
        outcome = exhausted(response);
        // The next iteration must find the bucket empty.
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
      } else if (isUnsent(error)) outcome = { spent: 0 };
      throw error;
    } finally {
      if (spent > 0) context.onSpent?.(spent);
      // The transport does not wait for this: an unsettled lease expires, and counts as spent.
      void lease.settle(outcome).catch((error) => log.warn({ err: error }, 'failed to settle tokens'));
    }
  }
}

/** Returns the public error of a failure, and logs the reason. */
function publicError(
  { key, log }: TransportDeps,
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
  const facts = { errorId, path, reason: maskSecrets(message).replaceAll(key, '***') };
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
