import type { FastifyInstance } from 'fastify';
import { Counter, type Registry } from 'prom-client';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { networkOf } from '../../accounts/networks.ts';
import type { Clock } from '../../platform/clock.ts';
import { isLeftUnread } from './requests.ts';

/** Delays refusals to clients that receive too many, so that each connection of a flood sends one request a second. */
export interface RefusalPace {
  apply(app: FastifyInstance): void;
}

/** Refusals are counted in windows of this length. */
const WINDOW_SECONDS = 5;

const SMALL = { counts: 1, delayMs: 1_000 };

/** The refusal of a large body counts as 20 refusals, because it takes a connection and many bytes of the kernel's buffers. */
const UNREAD_BODY = { counts: 20, delayMs: 5_000 };

/** Limits memory: while so many refusals wait, the oldest is sent for each further one. */
const MAX_DELAYED = 1_000;

/** @param perSecond refusals that an account, or an address without a known key, receives without delay. null: all. */
export function createRefusalPace(registry: Registry, clock: Clock, perSecond: number | null): RefusalPace {
  const delayed = new Counter({
    name: 'souk_refusals_delayed_total',
    help: 'Answers 4xx that were sent late, because their client had received too many.',
    registers: [registry],
  });
  if (perSecond === null) return { apply() {} };
  const limiter = new RateLimiterMemory({ points: perSecond * WINDOW_SECONDS, duration: WINDOW_SECONDS });
  /** How each delay ends, the oldest first. */
  const waiting = new Set<() => void>();

  const delay = (delayMs: number) =>
    new Promise<void>((resolve) => {
      delayed.inc();
      const [oldest] = waiting.size < MAX_DELAYED ? [] : waiting;
      oldest?.();
      const end = () => {
        cancel();
        waiting.delete(end);
        resolve();
      };
      const cancel = clock.after(delayMs, end, 'refusal');
      waiting.add(end);
    });

  return {
    apply(app) {
      app.addHook('onSend', async (request, { statusCode }) => {
        if (statusCode < 400 || statusCode >= 500) return;
        const network = networkOf(request.ip);
        const isUnread = isLeftUnread(request.raw);
        const { counts, delayMs } = isUnread ? UNREAD_BODY : SMALL;
        // Large bodies are counted by network, because one client may have many accounts.
        const client = isUnread ? network : (request.accountId ?? network);
        await limiter.consume(client, counts).catch(() => delay(delayMs));
      });
    },
  };
}
