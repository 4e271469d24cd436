import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Registry } from 'prom-client';
import { networkOf } from '../../accounts/networks.ts';
import type { Clock } from '../../platform/clock.ts';
import { createTally } from '../../platform/telemetry/tally.ts';
import { createFairDelays } from '../limits/fair-delays.ts';
import { isLeftUnread } from './unread-bodies.ts';

/** Delays refusals to clients that receive too many, so that each connection of a flood sends one request a second. */
export interface RefusalPace {
  apply(app: FastifyInstance): void;
}

/** Refusals are counted in windows of this length. */
const WINDOW_MS = 5_000;

const DELAY_MS = 1_000;

/** The refusal of a large body counts as this many refusals, because it takes a connection and up to 128 KiB of the body. */
const UNREAD_BODY_COUNTS = 20;

/** Limits of memory. Beyond MAX_CLIENTS, counts are forgotten. While MAX_DELAYED refusals wait, the oldest is sent for each further one. */
const MAX_CLIENTS = 10_000;
const MAX_DELAYED = 1_000;

/** @param perSecond refusals that an account, or an address without a known key, receives without delay. null: all. */
export function createRefusalPace(registry: Registry, clock: Clock, perSecond: number | null): RefusalPace {
  const delayed = createTally(registry, {
    name: 'souk_refusals_delayed_total',
    help: 'Answers 4xx that were sent up to a second late, because their client had received too many.',
    labels: [],
  })();
  if (perSecond === null) return { apply() {} };
  const windows = new LRUCache<string | number, { endsAt: number; count: number }>({ max: MAX_CLIENTS });
  const delay = createFairDelays(clock, { delayMs: DELAY_MS, most: MAX_DELAYED, name: 'refusal' });

  const isOverLimit = (request: FastifyRequest): boolean => {
    const client = request.accountId ?? networkOf(request.ip);
    const now = clock.now();
    let window = windows.get(client);
    if (!window || window.endsAt <= now) {
      window = { endsAt: now + WINDOW_MS, count: 0 };
      windows.set(client, window);
    }
    window.count += isLeftUnread(request.raw) ? UNREAD_BODY_COUNTS : 1;
    return window.count > (perSecond * WINDOW_MS) / 1_000;
  };

  return {
    apply(app) {
      app.addHook('onSend', (request, { statusCode }, _payload, done) => {
        const isRefusal = statusCode >= 400 && statusCode < 500;
        if (!isRefusal || !isOverLimit(request)) return done();
        delayed.value += 1;
        delay(networkOf(request.ip), done);
      });
    },
  };
}
