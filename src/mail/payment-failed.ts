import type { StripeDeps } from '../billing/payments/stripe/stripe-context.ts';
import { queueNotice } from './queue.ts';

/** Queues the mail about a payment that failed. */
export const queuePaymentFailed: NonNullable<StripeDeps['notify']> = (db, accountId, facts) =>
  queueNotice(db, { accountId, kind: 'payment_failed', facts });
