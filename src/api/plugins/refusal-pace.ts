import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Registry } from 'prom-client';
import { networkOf } from '../../accounts/wrong-keys.ts';
import { createTally } from '../../platform/telemetry/tally.ts';

/** Delays refusals to clients that receive too many, so that each connection of a flood sends one request a second. */
export interface RefusalPace {
  apply(app: FastifyInstance): void;
}

/** Refusals are counted in windows of this length. */
const WINDOW_MS = 5_000;

const DELAY_MS = 1_000;

/** Limits of memory. Beyond MAX_CLIENTS, counts are forgotten. While MAX_DELAYED refusals wait, further ones are sent at once. */
const MAX_CLIENTS = 10_000;
const MAX_DELAYED = 1_000;

/** @param perSecond refusals that an account, or an address without a known key, receives without delay. null: all. */
export function createRefusalPace(registry: Registry, perSecond: number | null): RefusalPace {
  const delays = createTally(registry, {
    name: 'souk_refusals_delayed_total',
    help: 'Answers 4xx that were sent a second late, because their client had received too many.',
    labels: [],
  })();
  if (perSecond === null) return { apply() {} };
  const windows = new LRUCache<string | number, { endsAt: number; count: number }>({ max: MAX_CLIENTS });
  let delayed = 0;

  const isOverLimit = (client: string | number): boolean => {
    const now = performance.now();
    let window = windows.get(client);
    if (!window || window.endsAt <= now) {
      window = { endsAt: now + WINDOW_MS, count: 0 };
      windows.set(client, window);
    }
    window.count += 1;
    return window.count > (perSecond * WINDOW_MS) / 1_000;
  };

  return {
    apply(app) {
      app.addHook('onSend', (request, { statusCode }, _payload, done) => {
        const isRefusal = statusCode >= 400 && statusCode < 500;
        if (!isRefusal || !isOverLimit(clientOf(request)) || delayed >= MAX_DELAYED) return done();
        delayed += 1;
        delays.value += 1;
        setTimeout(() => {
          delayed -= 1;
          done();
        }, DELAY_MS);
      });
    },
  };
}

function clientOf({ accountId, ip }: FastifyRequest): string | number {
  return accountId ?? networkOf(ip);
}
