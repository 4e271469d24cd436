import { z } from 'zod';
import type { TokenReading } from '../token-bucket.ts';

/** The fields around the payload of an answer. Fields that upstream sometimes omits are optional. */
const schema = z.looseObject({
  timestamp: z.number().optional(),
  tokensLeft: z.number().optional(),
  refillIn: z.number().optional(),
  refillRate: z.number().optional(),
  tokenFlowReduction: z.number().optional(),
  tokensConsumed: z.number().optional(),
  error: z
    .looseObject({ type: z.string().nullish(), message: z.string().nullish(), details: z.string().nullish() })
    .nullish(),
});

export type Envelope = z.output<typeof schema>;

/** @returns null if the value is not an answer of the provider. */
export function readEnvelope(value: unknown): Envelope | null {
  const result = schema.safeParse(value);
  return result.success ? result.data : null;
}

/**
 * Returns the token reading of an answer, or null. The answer to an incorrect key has only zeros and is no reading.
 */
export function tokenReading(envelope: Envelope): TokenReading | null {
  const { tokensLeft, refillRate, refillIn, timestamp, tokenFlowReduction = 0, tokensConsumed } = envelope;
  if (tokensLeft === undefined || refillIn === undefined || !refillRate) return null;
  const netRate = refillRate - tokenFlowReduction;
  if (netRate <= 0) return null;
  return {
    tokensLeft,
    refillIn,
    refillRate: netRate,
    timestamp: timestamp ?? null,
    consumed: tokensConsumed,
  };
}

/** Returns whether a part of an answer is an object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
