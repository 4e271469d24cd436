import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { networkOf } from '../../accounts/networks.ts';
import type { Clock } from '../../platform/clock.ts';
import { recentlyUsed } from '../../platform/recently-used.ts';
import { createTally } from '../../platform/telemetry/tally.ts';
import { createFairDelays } from '../limits/fair-delays.ts';
import { isLeftUnread } from './unread-bodies.ts';

/** Delays refusals to clients that receive too many, so that each connection of a flood sends one request a second. */
export interface RefusalPace {
  apply(app: FastifyInstance): void;
}

/** Refusals are counted in windows of this length. */
const WINDOW_MS = 5_000;

const SMALL = { counts: 1, delayMs: 1_000 };

/** The refusal of a large body counts as 20 refusals, because it takes a connection and many bytes of the kernel's buffers. */
const UNREAD_BODY = { counts: 20, delayMs: 5_000 };

/** Limits of memory. Beyond MAX_CLIENTS, counts are forgotten. While MAX_DELAYED refusals wait, the oldest is sent for each further one. */
const MAX_CLIENTS = 10_000;
const MAX_DELAYED = 1_000;

/** @param perSecond refusals that an account, or an address without a known key, receives without delay. null: all. */
export function createRefusalPace(registry: Registry, clock: Clock, perSecond: number | null): RefusalPace {
  const delayed = createTally(registry, {
    name: 'souk_refusals_delayed_total',
    help: 'Answers 4xx that were sent late, because their client had received too many.',
    labels: [],
  })();
  if (perSecond === null) return { apply() {} };
  const windows = recentlyUsed<string | number, { endsAt: number; count: number }>(MAX_CLIENTS);
  const delay = createFairDelays(clock, { most: MAX_DELAYED, name: 'refusal' });

  /** Counts refusals to a client. */
  const isOverLimit = (client: string | number, counts: number): boolean => {
    const now = clock.now();
    let window = windows.get(client);
    if (!window || window.endsAt <= now) {
      window = { endsAt: now + WINDOW_MS, count: 0 };
      windows.set(client, window);
    }
    window.count += counts;
    return window.count > (perSecond * WINDOW_MS) / 1_000;
  };

  return {
    apply(app) {
      app.addHook('onSend', (request, { statusCode }, _payload, done) => {
        if (statusCode < 400 || statusCode >= 500) return done();
        const network = networkOf(request.ip);
        const isUnread = isLeftUnread(request.raw);
        const { counts, delayMs } = isUnread ? UNREAD_BODY : SMALL;
        // Large bodies are counted by network, because one client may have many accounts.
        if (!isOverLimit(isUnread ? network : (request.accountId ?? network), counts)) return done();
        delayed.value += 1;
        delay(network, delayMs, done);
      });
    },
  };
}
