import type { StripeContext } from '../payments/stripe/stripe-context.ts';
import { chargeTopUp } from './charge-top-up.ts';
import { startTopUp } from './start-top-up.ts';

/** Accounts that are checked in one round, those first that were not checked for the longest time. */
const MOST_AT_ONCE = 100;

/** Buys packs for the accounts whose units are below their threshold. */
export async function runTopUps(context: StripeContext): Promise<void> {
  const { database, now, log } = context;
  const { rows } = await database.query<{ accountId: number }>(
    `update auto_top_ups set checked_at = $1 where account_id in (
       select t.account_id from auto_top_ups t join accounts a on a.id = t.account_id
       where (t.is_on or t.purchase_id is not null) and a.state = 'active'
       order by t.checked_at limit $2 for update of t skip locked)
     returning account_id as "accountId"`,
    [new Date(now()), MOST_AT_ONCE],
  );
  for (const { accountId } of rows)
    await topUp(context, accountId).catch((error: unknown) =>
      log.warn({ err: error, accountId }, 'failed to top up an account'),
    );
}

async function topUp(context: StripeContext, accountId: number): Promise<void> {
  const { database, now, currency } = context;
  const purchaseId = await startTopUp(database, accountId, { currency, now: now() });
  if (purchaseId !== null) await chargeTopUp(context, purchaseId);
}
