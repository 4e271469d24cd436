import { z } from 'zod';
import { POOL_NAMES } from '../src/operations/pools.ts';
import type { ErrorRecord } from '../src/platform/errors.ts';

/** The news that a call has ended, published to every gateway. A wake-up call, never the truth: that is in PostgreSQL. */
export interface JobEnded {
  callId: string;
  pool: (typeof POOL_NAMES)[number];
  state: 'settled' | 'released';
  unitsCharged: number;
  error: ErrorRecord | null;
  /** How long the work took, without waiting for its turn or for tokens; null when it was not done to its end. */
  durationMs: number | null;
}

const schema = z.object({
  callId: z.string(),
  pool: z.enum(POOL_NAMES),
  state: z.enum(['settled', 'released']),
  unitsCharged: z.number(),
  error: z.custom<ErrorRecord | null>(),
  durationMs: z.number().nullable(),
});

export function encodeJobEnded(news: JobEnded): string {
  return JSON.stringify(news);
}

export function decodeJobEnded(message: string): JobEnded {
  return schema.parse(JSON.parse(message));
}
