import { z } from 'zod';
import type { Quote } from '../../jobs/quote.ts';
import { TRACKS } from '../billing/quota.ts';
import { SCHEMA_NAMES } from '../operations/answers.ts';
import type { LocalOperation, QueuedOperation } from '../operations/define.ts';
import { ERRORS } from '../platform/errors.ts';

/** Answer to a dry run. */
export const quoteSchema = z
  .object({
    dryRun: z.literal(true),
    operation: z.string(),
    units: z.int().describe('Highest price of the call'),
    admitted: z.boolean().describe('Whether the call would be accepted now'),
    billing: z
      .enum(['general', 'off_peak'])
      .nullable()
      .describe('Wallet that would be charged first; null if the call would not be charged'),
    billingTrack: z.enum(['legacy', 'pack']).nullable(),
    rejectReason: z.string().nullable().describe('Error code that the call would return'),
    rejectMessage: z.string().nullable(),
    deduplicated: z
      .boolean()
      .describe('Whether the call would be free, because an identical call was made within five minutes'),
  })
  .describe('Answer with dryRun: the price of the call, and whether it would be accepted')
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
