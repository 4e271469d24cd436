import type { Redis } from 'ioredis';
import type { Clock } from '../../platform/clock.ts';
import type { RedisKeys } from '../../platform/redis-keys.ts';
import type { HttpClient } from '../http-client.ts';
import { createDoor } from './door.ts';
import { createKeywordClient } from './keyword-client.ts';
import { createNidCookie } from './nid-cookie.ts';
import { createPacer, type Pace } from './pacer.ts';
import { createTrendingClient } from './trending-client.ts';
import type { Trends } from './trends.ts';

/**
 * The three doors of the site are limited apart from each other. Explore was measured to take about 90 calls at once and
 * 60 a minute for long; we stay below that, since all workers may share one address. No limit of the others is known.
 */
const PACES = {
  explore: { intervalMs: 1_000, burst: 30 },
  widgetData: { intervalMs: 500, burst: 60 },
  trending: { intervalMs: 500, burst: 60 },
} as const satisfies Record<string, Pace>;

/** Search trends from the Trends site. */
export function openTrends(deps: {
  baseUrl: string;
  http: HttpClient;
  redis: Redis;
  keys: RedisKeys;
  clock: Clock;
}): Trends {
  const { baseUrl, http, redis, keys, clock } = deps;
  const pacer = (name: keyof typeof PACES) =>
    createPacer(redis, keys.pacing(`trends-${name}`), PACES[name], clock);
  const cookies = createNidCookie(redis, keys.cookie('trends'));
  return {
    ...createKeywordClient({
      baseUrl,
      cookies,
      explore: createDoor({ http, pacer: pacer('explore'), clock, cookies }),
      widgetData: createDoor({ http, pacer: pacer('widgetData'), clock }),
    }),
    ...createTrendingClient({ baseUrl, door: createDoor({ http, pacer: pacer('trending'), clock }) }),
  };
}
