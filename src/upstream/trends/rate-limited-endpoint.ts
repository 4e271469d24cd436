import { randomUUID } from 'node:crypto';
import type { Result } from 'ioredis';
import pRetry from 'p-retry';
import { type Clock, sleep } from '../../platform/clock.ts';
import { HOUR_MS } from '../../platform/durations.ts';
import { SoukError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log.ts';
import type { Redis } from '../../platform/redis.ts';
import {
  BodyTooLargeError,
  beforeSending,
  type Cancellable,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
} from '../http-client.ts';
import { TokensAwaited } from '../token-bucket.ts';

/** Builds an address of the Trends site with a query. */
export function trendsUrl(baseUrl: string, path: string, params: Record<string, string | number>): URL {
  const url = new URL(`${baseUrl}${path}`);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, String(value));
  return url;
}

/** Why upstream returned no data. Each kind needs a different reaction. */
type RefusalKind =
  /** 429 with a cookie: upstream answers the same call with that cookie. */
  | 'cookieGate'
  /** 429 without a cookie: too many calls. */
  | 'rateLimited'
  /** A redirect to a captcha: upstream blocks our address for hours. */
  | 'captcha'
  /** 401: the token has expired, or belongs to another request. */
  | 'staleToken'
  /** 400: upstream does not understand the request. */
  | 'badRequest'
  /** An error with status 200: upstream does not know the region. */
  | 'badArgument'
  /** 404: the API no longer exists. */
  | 'gone'
  /** An answer that cannot be read. */
  | 'malformed'
  /** No answer, or one with 5xx. */
  | 'failed'
  /** The call was not sent, because the endpoint is paused. */
  | 'paused';

export class Refusal extends Error {
  readonly kind: RefusalKind;
  /** Time until a retry may succeed. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: RefusalKind, message: string, details: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.kind = kind;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Kinds that need the operator, because they do not end by themselves. */
const ALARMING = new Set<RefusalKind>(['captcha', 'gone', 'badRequest']);

/** Returns the public error of a failure, and logs the reason. */
export function publicError(
  error: unknown,
  { signal, log }: { signal: AbortSignal; log: Logger },
): SoukError | TokensAwaited {
  if (error instanceof TokensAwaited) return error;
  if (signal.aborted) return new SoukError('UPSTREAM_TIMEOUT', { cause: error });
  if (error instanceof SoukError) return error;
  const { kind, retryAfterMs } =
    error instanceof Refusal ? error : { kind: 'failed', retryAfterMs: undefined };
  const errorId = randomUUID();
  const facts = { errorId, kind, reason: (error as Error).message };
  if (ALARMING.has(kind as RefusalKind)) log.error(facts, 'search-trend provider refused the request');
  else log.warn(facts, 'search-trend provider request failed');
  return new SoukError('UPSTREAM_ERROR', {
    metadata: { errorId },
    cause: `${kind}: ${facts.reason}`,
    ...(retryAfterMs === undefined ? {} : { retryAfterSeconds: Math.ceil(retryAfterMs / 1000) }),
  });
}

/**
 * Paces the calls of all workers to one rate-limited endpoint, through Redis: a burst immediately, then one call in each
 * interval, and no call for a while after the provider refuses.
 */
export interface Pacer {
  /**
   * Waits until a call may be sent. In the background it throws instead, so that the caller's worker slot becomes free.
   * @throws Refusal `paused` if the wait would be too long; TokensAwaited in the background; the signal's reason when it
   *   aborts.
   */
  waitForSlot(context: SlotContext): Promise<void>;
  /**
   * Blocks all calls for `firstMs`, and twice as long for each further pause soon after, up to `longestMs`; at least for
   * `leastMs`, default 0.
   */
  pause(pause: { firstMs: number; longestMs: number; leastMs?: number }): Promise<void>;
}

interface SlotContext extends Cancellable {
  /** Unix milliseconds. */
  deadlineAt: number;
  /** No request waits for the answer. */
  readonly background: boolean;
}

export interface Pace {
  /** Milliseconds from one call to the next. */
  intervalMs: number;
  /** Calls that may be sent immediately after an idle period. */
  burst: number;
}

/** The longest wait for a call. After it an error is more useful to the caller. */
export const LONGEST_WAIT_MS = 20_000;

/** A refusal counts as the first again after this time without one. */
const FORGIVE_MS = HOUR_MS;

/**
 * A hash: `next` is the time when the intervals of all calls so far end, `openAt` the end of a pause, `refusals` the
 * number of consecutive pauses. Times are Unix milliseconds. Returns the wait for the slot that was taken; a negative
 * number is the wait that would have been needed, and no slot was taken.
 */
const TAKE_SLOT = `
  local now, interval, burst, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  local state = redis.call('HMGET', KEYS[1], 'next', 'openAt')
  local from = math.max(now, tonumber(state[2] or '0'))
  local next = math.max(from, tonumber(state[1] or '0'))
  local wait = math.max(from - now, next - now - (burst - 1) * interval)
  if wait > longest then return -wait end
  redis.call('HSET', KEYS[1], 'next', next + interval)
  redis.call('PEXPIRE', KEYS[1], ${FORGIVE_MS} * 2)
  return wait`;

/** Refusals during a pause count once. No burst accumulates while the endpoint is paused. */
const PAUSE = `
  local now, interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
  local state = redis.call('HMGET', KEYS[1], 'openAt', 'refusals')
  local openAt, refusals = tonumber(state[1] or '0'), tonumber(state[2] or '0')
  if openAt > now then return end
  if openAt + ${FORGIVE_MS} < now then refusals = 0 end
  openAt = now + math.max(tonumber(ARGV[6]), math.min(tonumber(ARGV[4]) * 2 ^ refusals, tonumber(ARGV[5])))
  local next = openAt + (burst - 1) * interval
  redis.call('HSET', KEYS[1], 'openAt', openAt, 'refusals', refusals + 1, 'next', next)
  redis.call('PEXPIRE', KEYS[1], openAt - now + ${FORGIVE_MS} * 2)`;

declare module 'ioredis' {
  interface RedisCommander<Context> {
    soukTakeSlot(...args: (string | number)[]): Result<number, Context>;
    soukPause(...args: (string | number)[]): Result<unknown, Context>;
  }
}

export function createPacer(redis: Redis, key: string, { intervalMs, burst }: Pace, clock: Clock): Pacer {
  redis.defineCommand('soukTakeSlot', { numberOfKeys: 1, lua: TAKE_SLOT });
  redis.defineCommand('soukPause', { numberOfKeys: 1, lua: PAUSE });

  return {
    async waitForSlot(context) {
      const { deadlineAt } = context;
      const signal = beforeSending(context);
      signal.throwIfAborted();
      const until = Math.min(clock.now() + LONGEST_WAIT_MS, deadlineAt);
      for (;;) {
        const now = clock.now();
        const longest = context.background ? 0 : Math.max(0, until - now);
        const waitMs = await redis.soukTakeSlot(key, now, intervalMs, burst, longest);
        if (waitMs < 0) {
          if (context.background) throw new TokensAwaited(-waitMs);
          throw new Refusal('paused', `no call may be sent for ${-waitMs} ms`, { retryAfterMs: -waitMs });
        }
        if (waitMs === 0) return;
        await sleep(clock, waitMs, signal, 'upstream pacing');
        // The provider may have refused a call of another worker meanwhile.
        if (Number(await redis.hget(key, 'openAt')) <= clock.now()) return;
      }
    },

    async pause({ firstMs, longestMs, leastMs = 0 }) {
      await redis.soukPause(key, clock.now(), intervalMs, burst, firstMs, longestMs, leastMs);
    },
  };
}

type EndpointRequest = Pick<HttpRequest, 'method' | 'url' | 'form'>;

/** One of the Trends site's APIs, each with its own rate limit. Paces calls, classifies refusals, and retries some. */
export interface RateLimitedEndpoint {
  /** Sends a call and reads its answer, which has status 200. @throws Refusal when retries do not help. */
  ask<T>(request: EndpointRequest, read: (response: HttpResponse) => T, context: SlotContext): Promise<T>;
  /**
   * Opens a page to obtain its cookie. A failure is ignored, because an answer of the API may set the cookie as well.
   * @throws Refusal when the endpoint is paused, or the page redirects to the captcha.
   */
  visit(url: URL, context: SlotContext): Promise<void>;
}

/** The cookie that some endpoints require. */
export interface Cookies {
  /** Returns the cookie to send; null if none is stored. */
  current(): Promise<string | null>;
  /** Stores the cookie of an answer. @returns whether the answer sets one. */
  learn(response: HttpResponse): Promise<boolean>;
}

const MAX_BYTES = 16 * 1024 * 1024;

/** Retries after each kind of refusal. */
const SECOND_CHANCES: Partial<Record<RefusalKind, number>> = { cookieGate: 1, rateLimited: 1, failed: 2 };
const MOST_ATTEMPTS = 1 + Object.values(SECOND_CHANCES).reduce((sum, chances) => sum + chances, 0);

const FAULT_DELAY_MS = 300;

/** An exhausted limit recovers within minutes; a blocked address stays blocked for hours. */
const PAUSES: Partial<Record<RefusalKind, { firstMs: number; longestMs: number }>> = {
  rateLimited: { firstMs: 10_000, longestMs: 600_000 },
  captcha: { firstMs: 600_000, longestMs: 4 * HOUR_MS },
};

interface EndpointDeps {
  http: HttpClient;
  pacer: Pacer;
  clock: Clock;
  cookies?: Cookies;
}

export function createRateLimitedEndpoint(deps: EndpointDeps): RateLimitedEndpoint {
  const { pacer, clock } = deps;

  async function pauseAfter({ kind, retryAfterMs = 0 }: Refusal): Promise<void> {
    const pause = PAUSES[kind];
    if (pause) await pacer.pause({ ...pause, leastMs: Math.min(retryAfterMs, pause.longestMs) });
  }

  return {
    async visit(url, context) {
      await pacer.waitForSlot(context);
      const page = await send(deps, { method: 'GET', url, headOnly: true }, context.signal).catch((error) => {
        if (context.signal.aborted) throw error;
        return null;
      });
      if (!page || !isCaptcha(page.response)) return;
      const refusal = refusalOf(page.response, false, clock.now());
      await pauseAfter(refusal);
      throw refusal;
    },

    async ask(request, read, context) {
      const { signal } = context;
      const chances = { ...SECOND_CHANCES };
      let isPaced = false;
      const attempt = async () => {
        // The call is repeated immediately with the cookie that the refusal set.
        if (!isPaced) await pacer.waitForSlot(context);
        isPaced = false;
        const { response, isCookieNew } = await send(deps, request, signal);
        // A second request for a new cookie is a rate limit.
        const isGate = isCookieNew && (chances.cookieGate ?? 0) > 0;
        if (response.status !== 200) throw refusalOf(response, isGate, clock.now());
        return read(response);
      };
      return pRetry(attempt, {
        retries: MOST_ATTEMPTS - 1,
        // Delays use the injected clock, so that tests do not wait.
        minTimeout: 0,
        maxTimeout: 0,
        onFailedAttempt: async ({ error }) => {
          if (error instanceof Refusal) await pauseAfter(error);
        },
        shouldRetry: async ({ error }) => {
          if (!(error instanceof Refusal) || signal.aborted) return false;
          const left = chances[error.kind] ?? 0;
          chances[error.kind] = left - 1;
          isPaced = error.kind === 'cookieGate';
          if (left > 0 && error.kind === 'failed') await sleep(clock, FAULT_DELAY_MS, signal).catch(() => {});
          return left > 0 && !signal.aborted;
        },
      });
    },
  };
}

/** Sends a request with the present cookie, and stores the cookie of the answer. */
async function send(
  { http, cookies }: EndpointDeps,
  request: EndpointRequest & Pick<HttpRequest, 'headOnly'>,
  signal: AbortSignal,
): Promise<{ response: HttpResponse; isCookieNew: boolean }> {
  const cookie = (await cookies?.current()) ?? null;
  const headers = cookie === null ? {} : { cookie };
  const response = await http
    .send({ ...request, headers, signal, maxBytes: MAX_BYTES })
    .catch((cause: unknown) => {
      // An oversized answer would be oversized again.
      const kind = cause instanceof BodyTooLargeError ? 'malformed' : 'failed';
      throw new Refusal(kind, describe(cause), { cause });
    });
  return { response, isCookieNew: (await cookies?.learn(response)) ?? false };
}

/** Redirects are not followed, because their target is a web page with status 200. */
function refusalOf(response: HttpResponse, isGate: boolean, now: number): Refusal {
  const { status } = response;
  const facts = `HTTP ${status}`;
  if (status === 429) {
    if (isGate) return new Refusal('cookieGate', `${facts} with a new cookie`);
    return new Refusal('rateLimited', facts, { retryAfterMs: retryAfterMs(response, now) });
  }
  if (status >= 300 && status < 400) {
    return isCaptcha(response)
      ? new Refusal('captcha', `${facts} to the captcha page`)
      : new Refusal('gone', `${facts} to another address`);
  }
  if (status === 400) return new Refusal('badRequest', facts);
  if (status === 401) return new Refusal('staleToken', facts);
  if (status === 404) return new Refusal('gone', facts);
  return new Refusal(status >= 500 ? 'failed' : 'malformed', facts);
}

function isCaptcha({ status, location }: HttpResponse): boolean {
  const isRedirect = status >= 300 && status < 400 && location !== null;
  // The base resolves relative locations. Only the path is compared, since a query may contain such a path as well.
  const base = 'https://www.google.com';
  return (
    isRedirect && URL.canParse(location, base) && /^\/sorry(\/|$)/.test(new URL(location, base).pathname)
  );
}

/** Parses `Retry-After`, seconds or a date; 0 otherwise. Upstream has not been seen to send it, but proxies may. */
function retryAfterMs({ retryAfter }: HttpResponse, now: number): number {
  const text = retryAfter?.trim() ?? '';
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Math.max(0, waitMs || 0);
}

function describe(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : String(message);
}
