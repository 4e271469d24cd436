import { inTransaction } from '../../platform/db/transaction.ts';
import type { StripeContext } from '../payments/stripe/stripe-context.ts';
import { reversedShare } from './reversed-share.ts';
import { type PaidGrant, storeReversal } from './store-reversal.ts';

/** Each attempt reads Stripe again, because another process has stored a reversal meanwhile. */
const ATTEMPTS = 5;

/** Reads from Stripe what refunds and disputes have reversed of a payment, and takes back or gives back its units. */
export async function syncReversal(context: StripeContext, paymentIntentId: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const grants = await grantsOf(context, paymentIntentId);
    if (grants.length === 0) return;
    const share = await readShare(context, paymentIntentId);
    const { database, now } = context;
    const isStored = await inTransaction(database, async (client) => {
      for (const grant of grants) if (!(await storeReversal(client, grant, share, now()))) return false;
      return true;
    });
    if (isStored) return;
  }
  throw new Error(`The payment ${paymentIntentId} changed during each of ${ATTEMPTS} attempts`);
}

async function grantsOf({ database }: StripeContext, paymentIntentId: string): Promise<PaidGrant[]> {
  const { rows } = await database.query<PaidGrant>(
    `select id, account_id as "accountId", subscription_id as "subscriptionId", pack_id as "packId",
       reversed_share as "reversedShare", units_revoked as "unitsRevoked", xmin::text as revision
     from stripe_payments where payment_intent_id = $1 order by id`,
    [paymentIntentId],
  );
  return rows;
}

async function readShare({ api }: StripeContext, paymentIntentId: string): Promise<number> {
  const stripe = await api();
  const { latest_charge: charge } = await stripe.paymentIntents.retrieve(paymentIntentId, {
    expand: ['latest_charge'],
  });
  if (charge === null || typeof charge === 'string') return 0;
  const disputes = charge.disputed ? await stripe.disputes.list({ payment_intent: paymentIntentId }) : null;
  const states = disputes?.data.map(({ status }) => status) ?? [];
  return reversedShare({ amount: charge.amount, amountRefunded: charge.amount_refunded }, states);
}
