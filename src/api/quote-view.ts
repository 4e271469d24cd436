import { z } from 'zod';
import type { Quote } from '../../jobs/quote.ts';
import { TRACKS } from '../billing/quota.ts';
import { SCHEMA_NAMES } from '../operations/answers/schema-names.ts';
import type { LocalOperation, QueuedOperation } from '../operations/define.ts';
import { ERRORS } from '../platform/errors.ts';

/** What a dry run answers. */
export const quoteSchema = z
  .object({
    dryRun: z.literal(true),
    operation: z.string(),
    units: z.int().describe('What the call costs at most'),
    admitted: z.boolean().describe('Whether the call would be let in now'),
    billing: z
      .enum(['general', 'off_peak'])
      .nullable()
      .describe('What it would be charged to first; null when it would not be charged'),
    billingTrack: z.enum(['legacy', 'pack']).nullable(),
    rejectReason: z.string().nullable().describe('The error code it would get'),
    rejectMessage: z.string().nullable(),
    deduplicated: z
      .boolean()
      .describe('The same call was made within five minutes: made now, this one would be free'),
  })
  .describe('The answer with dryRun: what the call would cost, and whether it would be let in')
  .register(SCHEMA_NAMES, { id: 'Quote' });

export type QuoteView = z.output<typeof quoteSchema>;

export function quoteView({ name }: QueuedOperation, { units, deduplicated, verdict }: Quote): QuoteView {
  return {
    dryRun: true,
    operation: name,
    units,
    admitted: verdict.admitted,
    billing: verdict.admitted ? verdict.wallet : null,
    billingTrack: verdict.admitted && verdict.source ? TRACKS[verdict.source] : null,
    rejectReason: verdict.admitted ? null : ERRORS[verdict.error.kind].code,
    rejectMessage: verdict.admitted ? null : verdict.error.message,
    deduplicated,
  };
}

export function freeQuoteView({ name }: LocalOperation): QuoteView {
  return {
    dryRun: true,
    operation: name,
    units: 0,
    admitted: true,
    billing: null,
    billingTrack: null,
    rejectReason: null,
    rejectMessage: null,
    deduplicated: false,
  };
}
