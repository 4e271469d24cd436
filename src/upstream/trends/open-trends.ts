import type { Clock } from '../../platform/clock.ts';
import type { Redis } from '../../platform/redis.ts';
import type { RedisKeys } from '../../platform/redis-keys.ts';
import type { HttpClient } from '../http-client.ts';
import { createExploreClient } from './explore-client.ts';
import { createKeywordClient } from './keyword-client.ts';
import { createNidCookie } from './nid-cookie.ts';
import { createPacer, type Pace } from './pacer.ts';
import { type Cookies, createRateLimitedEndpoint } from './rate-limited-endpoint.ts';
import { createTrendingClient } from './trending-client.ts';
import type { Trends } from './trends.ts';

/**
 * The site limits each of its three endpoints separately. Explore accepts about 90 calls at once and 60 a minute
 * (measured); these limits are lower, because all workers may share one address. The limits of the others are unknown.
 */
const PACES = {
  explore: { intervalMs: 1_000, burst: 30 },
  widgetData: { intervalMs: 500, burst: 60 },
  trending: { intervalMs: 500, burst: 60 },
} as const satisfies Record<string, Pace>;

/** Creates the client of the Trends site. @param deps.provider its name, for the state that all workers share. */
export function openTrends(deps: {
  baseUrl: string;
  provider: string;
  http: HttpClient;
  redis: Redis;
  keys: RedisKeys;
  clock: Clock;
}): Trends {
  const { baseUrl, provider, http, redis, keys, clock } = deps;
  const cookies = createNidCookie(redis, keys.cookie(provider));
  const endpoint = (name: keyof typeof PACES, options: { cookies?: Cookies } = {}) => {
    const pacer = createPacer(redis, keys.pacing(`${provider}/${name}`), PACES[name], clock);
    return createRateLimitedEndpoint({ http, pacer, clock, ...options });
  };
  return {
    ...createKeywordClient({
      baseUrl,
      explore: createExploreClient({ baseUrl, cookies, endpoint: endpoint('explore', { cookies }) }),
      widgetData: endpoint('widgetData'),
    }),
    ...createTrendingClient({ baseUrl, endpoint: endpoint('trending') }),
  };
}
