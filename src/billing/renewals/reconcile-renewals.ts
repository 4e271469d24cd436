import type { StripeContext } from '../payments/stripe/stripe-context.ts';
import { EXTEND_BEFORE_MS } from './apply-subscription.ts';
import { syncRenewal } from './sync-renewal.ts';

/** Plans that are read in one round. */
const MOST_AT_ONCE = 50;

/** A plan whose month has ended is read this often until its payment is reported; others once a day. */
const AGAIN_MS = 10 * 60_000;
const DAY_MS = 86_400_000;

/**
 * Reads plans from Stripe again whose month ends or has ended, and plans that were not read for a day, because events can be
 * lost. A plan that cannot be read is tried again later.
 */
export async function reconcileRenewals(context: StripeContext): Promise<void> {
  const { log } = context;
  for (const id of await claimDue(context))
    await syncRenewal(context, id).catch((error: unknown) =>
      log.warn({ err: error, subscription: id }, 'failed to read a renewing plan from Stripe'),
    );
}

async function claimDue({ database, now }: StripeContext): Promise<string[]> {
  const at = now();
  const { rows } = await database.query<{ id: string }>(
    `update renewing_plans set seen_at = $1 where id in (
       select id from renewing_plans
       where state <> 'ended' and (seen_at <= $2 or (seen_at <= $3 and period_end <= $4))
       order by seen_at limit $5 for update skip locked)
     returning id`,
    [
      new Date(at),
      new Date(at - DAY_MS),
      new Date(at - AGAIN_MS),
      new Date(at + EXTEND_BEFORE_MS),
      MOST_AT_ONCE,
    ],
  );
  return rows.map(({ id }) => id);
}
