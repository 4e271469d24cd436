import type { Quote } from '../../jobs/quote.ts';
import { TRACKS } from '../billing/quota.ts';
import { ERRORS } from '../errors.ts';
import type { LocalOperation, QueuedOperation } from '../operations/define.ts';

/** What a dry run answers. */
export interface QuoteView {
  dryRun: true;
  operation: string;
  /** What the call costs at most. */
  units: number;
  admitted: boolean;
  /** What it would be charged to first; null when it would not be charged. */
  billing: 'general' | 'off_peak' | null;
  billingTrack: 'legacy' | 'pack' | null;
  rejectReason: string | null;
  rejectMessage: string | null;
  /** The same call was made within five minutes: made now, this one would be free. */
  deduplicated: boolean;
}

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
