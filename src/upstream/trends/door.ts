import pRetry from 'p-retry';
import { type Clock, sleep } from '../../clock.ts';
import type { HttpClient, HttpRequest, HttpResponse } from '../http-client.ts';
import type { Pacer, TurnContext } from './pacer.ts';
import { Refusal, type RefusalKind } from './refusal.ts';

export type DoorRequest = Pick<HttpRequest, 'method' | 'url' | 'form'>;

/** A way into the Trends site that is limited by itself: calls are paced, refusals told apart, and some tried again. */
export interface Door {
  /**
   * Sends a call and reads its answer, which has status 200.
   * @throws Refusal after what may pass has been tried again.
   */
  ask<T>(request: DoorRequest, read: (response: HttpResponse) => T, context: TurnContext): Promise<T>;
  /** Opens a page for the sake of its cookie; its status and content mean nothing. @throws Refusal */
  visit(url: URL, context: TurnContext): Promise<void>;
}

/** The cookie that some doors want to see. */
export interface Cookies {
  /** The cookie to send; null while there is none. */
  current(): Promise<string | null>;
  /** Keeps what an answer sets. @returns whether it sets one. */
  learn(response: HttpResponse): Promise<boolean>;
}

const MAX_BYTES = 16 * 1024 * 1024;

/** How often a call is tried again after each kind of refusal. */
const SECOND_CHANCES: Partial<Record<RefusalKind, number>> = { cookieGate: 1, rateLimited: 1, failed: 2 };
const MOST_ATTEMPTS = 1 + Object.values(SECOND_CHANCES).reduce((sum, chances) => sum + chances, 0);

const FAULT_DELAY_MS = 300;

/** A bucket that is empty fills within minutes; an address that is suspect stays so for hours. */
const PAUSES: Partial<Record<RefusalKind, { firstMs: number; longestMs: number }>> = {
  rateLimited: { firstMs: 10_000, longestMs: 600_000 },
  captcha: { firstMs: 600_000, longestMs: 4 * 3_600_000 },
};

export function createDoor(deps: { http: HttpClient; pacer: Pacer; clock: Clock; cookies?: Cookies }): Door {
  const { http, pacer, clock, cookies } = deps;

  async function pauseAfter({ kind }: Refusal): Promise<void> {
    const pause = PAUSES[kind];
    if (pause) await pacer.pause(pause);
  }

  async function send(
    request: DoorRequest,
    signal: AbortSignal,
  ): Promise<{ response: HttpResponse; isCookieNew: boolean }> {
    const cookie = (await cookies?.current()) ?? null;
    const headers = cookie === null ? {} : { cookie };
    const response = await http
      .send({ ...request, headers, signal, maxBytes: MAX_BYTES })
      .catch((cause: unknown) => {
        throw new Refusal('failed', describe(cause), { cause });
      });
    return { response, isCookieNew: (await cookies?.learn(response)) ?? false };
  }

  return {
    async visit(url, context) {
      await pacer.turn(context);
      const { response } = await send({ method: 'GET', url }, context.signal);
      const { location } = response;
      if (location === null) return;
      const refusal = refusalOf(response, false);
      await pauseAfter(refusal);
      throw refusal;
    },

    async ask(request, read, context) {
      const { signal } = context;
      const chances = { ...SECOND_CHANCES };
      let isPaced = false;
      const attempt = async () => {
        // With the cookie of a gate the same call goes on, at once.
        if (!isPaced) await pacer.turn(context);
        isPaced = false;
        const { response, isCookieNew } = await send(request, signal);
        // What asks for a new cookie again and again is no gate.
        const isGate = isCookieNew && (chances.cookieGate ?? 0) > 0;
        if (response.status !== 200) throw refusalOf(response, isGate);
        return read(response);
      };
      return pRetry(attempt, {
        retries: MOST_ATTEMPTS - 1,
        // The delays go by our clock, so that tests do not wait for them.
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

/** Redirects are never followed: the page behind them is for humans and answers 200. */
function refusalOf({ status, location }: HttpResponse, isGate: boolean): Refusal {
  const facts = `HTTP ${status}`;
  if (status === 429) {
    return isGate
      ? new Refusal('cookieGate', `${facts} with a new cookie`)
      : new Refusal('rateLimited', facts);
  }
  if (status >= 300 && status < 400) {
    return location?.includes('/sorry/')
      ? new Refusal('captcha', `${facts} to the captcha page`)
      : new Refusal('gone', `${facts} to another address`);
  }
  if (status === 400) return new Refusal('badRequest', facts);
  if (status === 401) return new Refusal('staleToken', facts);
  if (status === 404) return new Refusal('gone', facts);
  return new Refusal(status >= 500 ? 'failed' : 'malformed', facts);
}

function describe(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : String(message);
}
