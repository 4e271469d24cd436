import { z } from 'zod';
import { SCHEMA_NAMES } from '../operations/answers/schema-names.ts';
import { RETRY_DELAYS_MS } from '../platform/retry-delays.ts';
import { type Attempt, DELIVERY_STATES, type Delivery, KEPT_DAYS } from './delivery-log.ts';
import type { SecretState } from './secrets.ts';
import { ATTEMPT_TIMEOUT_MS } from './send.ts';

const moment = z.iso.datetime();

/** The public facts about an account's signing secrets. Times are ISO 8601, here and below. */
export const secretSchema = z
  .object({
    createdAt: moment,
    previousSignsUntil: moment
      .nullable()
      .describe('Time until which the previous secret also signs; null if only the current one does'),
  })
  .register(SCHEMA_NAMES, { id: 'WebhookSecret' });

/** The rules for deliveries. */
export const deliveryRulesSchema = z.object({
  timeoutSeconds: z.number(),
  retryDelaysSeconds: z.array(z.number()).describe('Seconds to wait after each failed attempt'),
  keptDays: z.int().describe('Days that deliveries stay in the log after they end'),
});

/** A delivery as its account sees it. */
export const deliverySchema = z
  .object({
    deliveryId: z.uuid().describe('Id that receivers get in the header webhook-id'),
    type: z.string(),
    url: z.string(),
    state: z.enum(DELIVERY_STATES),
    attempts: z.int(),
    nextAttemptAt: moment.nullable(),
    lastStatus: z.int().nullable(),
    lastError: z.string().nullable(),
    createdAt: moment,
    finishedAt: moment.nullable(),
    links: z.object({ self: z.string(), replay: z.string() }),
  })
  .register(SCHEMA_NAMES, { id: 'Delivery' });

export const attemptSchema = z
  .object({
    attempt: z.int(),
    at: moment,
    status: z.int().nullable(),
    error: z.string().nullable(),
    durationMs: z.number(),
    response: z.string().nullable().describe("The first KiB of the receiver's response"),
  })
  .register(SCHEMA_NAMES, { id: 'DeliveryAttempt' });

export const DELIVERY_RULES = {
  timeoutSeconds: ATTEMPT_TIMEOUT_MS / 1000,
  retryDelaysSeconds: RETRY_DELAYS_MS.map((delayMs) => delayMs / 1000),
  keptDays: KEPT_DAYS,
};

export function secretView({ createdAt, previousSignsUntil }: SecretState): z.output<typeof secretSchema> {
  return { createdAt: createdAt.toISOString(), previousSignsUntil: iso(previousSignsUntil) };
}

export function deliveryView(delivery: Delivery): z.output<typeof deliverySchema> {
  const { id: deliveryId, type, url, state, attempts, lastStatus, lastError } = delivery;
  const self = `/api/webhooks/deliveries/${deliveryId}`;
  return {
    deliveryId,
    type,
    url,
    state,
    attempts,
    nextAttemptAt: iso(delivery.nextAttemptAt),
    lastStatus,
    lastError,
    createdAt: delivery.createdAt.toISOString(),
    finishedAt: iso(delivery.finishedAt),
    links: { self, replay: `${self}/replay` },
  };
}

export function attemptView({
  number,
  at,
  status,
  error,
  durationMs,
  response,
}: Attempt): z.output<typeof attemptSchema> {
  return { attempt: number, at: at.toISOString(), status, error, durationMs, response };
}

function iso(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}
