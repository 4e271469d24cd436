import { z } from 'zod';
import type { TokenReading } from '../token-bucket.ts';

/** The part of an answer that is not its payload. Fields that upstream leaves out at times are optional. */
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

/** @returns null when the value is not an answer of the provider at all. */
export function readEnvelope(value: unknown): Envelope | null {
  const result = schema.safeParse(value);
  return result.success ? result.data : null;
}

/**
 * What an answer says about the bucket, or null. The answer to a wrong key has zeros everywhere and says nothing.
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

/** Whether a part of an answer is an object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
