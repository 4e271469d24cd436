import pRetry from 'p-retry';
import { type Clock, sleep } from '../../platform/clock.ts';
import { BodyTooLargeError, type HttpClient, type HttpRequest, type HttpResponse } from '../http-client.ts';
import type { Pacer, TurnContext } from './pacer.ts';
import { Refusal, type RefusalKind } from './refusal.ts';

export type EndpointRequest = Pick<HttpRequest, 'method' | 'url' | 'form'>;

/** One of the Trends site's APIs, each with its own rate limit. Paces calls, classifies refusals, and retries some. */
export interface RateLimitedEndpoint {
  /**
   * Sends a call and reads its answer, which has status 200.
   * @throws Refusal when retries do not help.
   */
  ask<T>(request: EndpointRequest, read: (response: HttpResponse) => T, context: TurnContext): Promise<T>;
  /**
   * Opens a page to obtain its cookie. A failure is ignored, because an answer of the API may set the cookie as well.
   * @throws Refusal when the endpoint is paused, or the page redirects to the captcha.
   */
  visit(url: URL, context: TurnContext): Promise<void>;
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
  captcha: { firstMs: 600_000, longestMs: 4 * 3_600_000 },
};

export function createRateLimitedEndpoint(deps: {
  http: HttpClient;
  pacer: Pacer;
  clock: Clock;
  cookies?: Cookies;
}): RateLimitedEndpoint {
  const { http, pacer, clock, cookies } = deps;

  async function pauseAfter({ kind, retryAfterMs = 0 }: Refusal): Promise<void> {
    const pause = PAUSES[kind];
    if (pause) await pacer.pause({ ...pause, leastMs: Math.min(retryAfterMs, pause.longestMs) });
  }

  async function send(
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

  return {
    async visit(url, context) {
      await pacer.turn(context);
      const page = await send({ method: 'GET', url, headOnly: true }, context.signal).catch((error) => {
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
        // The call is repeated at once with the cookie that the refusal set.
        if (!isPaced) await pacer.turn(context);
        isPaced = false;
        const { response, isCookieNew } = await send(request, signal);
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
