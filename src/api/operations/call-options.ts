import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { boolean, integer } from '../../operations/params/scalars.ts';
import { parseAs } from '../request-input.ts';
import { type Preference, preferenceOf } from './preferences.ts';

/** What a caller wants of a call besides its answer. Always in the query: a body holds the operation's own parameters. */
export interface CallOptions {
  preference: Preference;
  /** Say what the call would cost and whether it would be let in, and do nothing. */
  dryRun: boolean;
  /** Refuse the call when it costs more; null: whatever it costs. */
  maxUnits: number | null;
}

// Built once: making a schema costs more than most requests do.
export const callOptionsSchema = z.object({
  async: boolean().optional().describe('Answer at once with a job to poll, like Prefer: respond-async'),
  dryRun: boolean()
    .default(false)
    .describe('Say what the call would cost and whether it would be let in, and do nothing'),
  maxUnits: integer({ min: 0 })
    .nullable()
    .default(null)
    .meta({ description: 'Refuse the call when it costs more', examples: [100] }),
});

const NO_OPTIONS = { async: false, dryRun: false, maxUnits: null };

/** @throws SoukError VALIDATION_FAILED. */
export function callOptionsOf(
  request: Pick<FastifyRequest, 'headers' | 'query'>,
  timeoutMs: number,
): CallOptions {
  const query = request.query as Record<string, unknown>;
  const given = query.async !== undefined || query.dryRun !== undefined || query.maxUnits !== undefined;
  const { async = false, dryRun, maxUnits } = given ? parseAs(callOptionsSchema, query) : NO_OPTIONS;
  return { preference: preferenceOf(request.headers.prefer, async, timeoutMs), dryRun, maxUnits };
}
