import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { boolean, integer } from '../../operations/params/scalars.ts';
import { parseAs } from '../request-input.ts';
import { type Preference, preferenceOf } from './preferences.ts';

/** Options of a call. They are always in the query, because a body holds the operation's own parameters. */
export interface CallOptions {
  preference: Preference;
  /** Return the price of the call and whether it would be accepted, without making the call. */
  dryRun: boolean;
  /** Refuse the call if it costs more units; null: no limit. */
  maxUnits: number | null;
}

// Built once, because building a schema takes longer than most requests.
export const callOptionsSchema = z.object({
  async: boolean().optional().describe('Return a job immediately, like Prefer: respond-async'),
  dryRun: boolean()
    .default(false)
    .describe('Return the price of the call and whether it would be accepted, without making the call'),
  maxUnits: integer({ min: 0 })
    .nullable()
    .default(null)
    .meta({ description: 'Refuse the call if it costs more units than this', examples: [100] }),
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
