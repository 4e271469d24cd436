import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { expect, inject } from 'vitest';
import { createLogger } from '../../src/platform/log.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { createHttpClient } from '../../src/upstream/http-client.ts';
import {
  type KeywordQuestion,
  openTrends,
  type Trends,
  type TrendsContext,
} from '../../src/upstream/trends/trends.ts';
import { TestClock } from './clock.ts';
import { openScriptedUpstream, type ScriptedUpstream } from './scripted-upstream.ts';

/** The client of the Trends site, with a scripted upstream. */
export interface TrendsClient {
  trends: Trends;
  /** A client of another worker process, with the same upstream. */
  other: Trends;
  upstream: ScriptedUpstream;
  clock: TestClock;
  forgetCookie(): Promise<void>;
  logLines: string[];
  /** By default, preliminary answers are not cached. */
  context(prepare?: TrendsContext['prepare']): TrendsContext & { abort(reason: Error): void };
  /** Advances the clock past each wait until the promise is settled. */
  waited<T>(promise: Promise<T>, stepMs?: number): Promise<T>;
  close(): Promise<void>;
}

export async function openTrendsClient(): Promise<TrendsClient> {
  const upstream = await openScriptedUpstream();
  const clock = new TestClock();
  const connections = [new Redis(inject('redisUrl')), new Redis(inject('redisUrl'))] as const;
  const http = createHttpClient({ connections: 8 });
  const keys = redisKeys(`test-${randomBytes(6).toString('hex')}`);
  const logLines: string[] = [];
  const log = createLogger('debug', { write: (line) => void logLines.push(line) });
  const [trends, other] = connections.map((redis) =>
    openTrends({ baseUrl: upstream.url, provider: 'trends', http, redis, keys, clock }),
  ) as [Trends, Trends];
  return {
    trends,
    other,
    upstream,
    clock,
    async forgetCookie() {
      await connections[0].del(keys.cookie('trends'));
    },
    logLines,
    context(prepare = (_preliminary, fetch) => fetch()) {
      const controller = new AbortController();
      return {
        signal: controller.signal,
        deadlineAt: clock.now() + 60_000,
        background: false,
        prepare,
        log,
        abort: (reason) => controller.abort(reason),
      };
    },
    async waited(promise, stepMs = 1000) {
      let settled = false;
      void Promise.allSettled([promise]).then(() => {
        settled = true;
      });
      await expect
        .poll(() => {
          if (!settled && clock.isWaiting) clock.advance(stepMs);
          return settled;
        })
        .toBe(true);
      return promise;
    },
    async close() {
      await http.close();
      await upstream.close();
      await Promise.all(connections.map((redis) => redis.quit()));
    },
  };
}

/** A question about two keywords in an ordinary week. */
export function question(asked: Partial<KeywordQuestion> = {}): KeywordQuestion {
  return {
    keywords: ['kettle', 'teapot'],
    geo: '',
    startDate: '2026-01-01',
    endDate: '2026-02-28',
    hl: 'en-US',
    property: 'web',
    category: 0,
    timezone: 0,
    ...asked,
  };
}

/** JSON as upstream sends it: behind a guard. */
export function guarded(value: unknown, guard = ")]}'\n") {
  return { raw: guard + JSON.stringify(value), contentType: 'application/json; charset=utf-8' };
}

/** The refusals of upstream. */
export const REFUSALS = {
  gate: {
    status: 429,
    raw: '<html lang="en">429</html>',
    contentType: 'text/html',
    headers: { 'set-cookie': 'NID=511=fresh; path=/; HttpOnly' },
  },
  rateLimit: { status: 429, raw: '<html lang="en">429</html>', contentType: 'text/html' },
  captcha: {
    status: 302,
    raw: '',
    contentType: 'text/html',
    headers: { location: 'https://www.google.com/sorry/index?continue=x' },
  },
  staleToken: { status: 401, raw: '<html lang="en">Bad Request</html>', contentType: 'text/html' },
  badRequest: { status: 400, raw: '<html lang="en">Bad Request</html>', contentType: 'text/html' },
  gone: { status: 404, raw: '<html lang="en">404</html>', contentType: 'text/html' },
  fault: { status: 503, raw: '', contentType: 'text/html' },
} as const;
