import type { ClientBase } from 'pg';
import { v7 as uuid } from 'uuid';
import { lockAccount } from '../../accounts/accounts.ts';
import type { Database } from '../../platform/db/pool.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { findOffer, type PackOffer } from '../payments/offers.ts';
import { createPurchase } from '../payments/purchases.ts';
import { decideTopUp } from './decide-top-up.ts';
import { type AutoTopUp, TOP_UP_COLUMNS } from './top-up-settings.ts';

/**
 * Records the purchase of a pack if an account has few units left and its ceiling allows it. Its price counts from now on, and no
 * other purchase of the top-up starts before it has ended.
 * @returns the id of the purchase whose payment is under way; null if there is none.
 */
export function startTopUp(
  database: Database,
  accountId: number,
  { currency, now }: { currency: string; now: number },
): Promise<string | null> {
  return inTransaction(database, async (client) => {
    await lockAccount(client, accountId);
    const { rows } = await client.query<AutoTopUp>(
      `select ${TOP_UP_COLUMNS} from auto_top_ups where account_id = $1`,
      [accountId],
    );
    const [topUp] = rows;
    if (!topUp) return null;
    if (topUp.purchaseId !== null) return topUp.purchaseId;
    const pack = await findOffer(client, 'pack', topUp.packCode);
    if (!topUp.isOn || pack?.kind !== 'pack') return null;
    const unitsLeft = await unitsLeftIn(client, accountId, pack, now);
    const spent = decideTopUp(topUp, topUp, { unitsLeft, priceCents: pack.priceCents, now });
    if (!spent) return null;
    const purchaseId = uuid();
    const details = { wallet: pack.wallet, quantity: 1, months: 1, currency, provider: 'stripe' } as const;
    await createPurchase(client, { purchaseId, accountId, offer: pack, ...details }, now);
    await client.query(
      `update auto_top_ups set month = $2, spent_cents = $3, purchases = $4, purchase_id = $5 where account_id = $1`,
      [accountId, spent.month, spent.spentCents, spent.purchases, purchaseId],
    );
    return purchaseId;
  });
}

/** The units that the packs and the present subscription of a wallet have left; null: unlimited. */
async function unitsLeftIn(
  client: ClientBase,
  accountId: number,
  { wallet }: PackOffer,
  now: number,
): Promise<number | null> {
  const { rows } = await client.query<{ packs: number; months: number; isUnlimited: boolean }>(
    `select
       (select coalesce(sum(remaining_units), 0)::bigint from packs
        where account_id = $1 and wallet = $2 and valid_from <= $3 and valid_until > $3) as packs,
       coalesce(sum(greatest(monthly_limit - month_used, 0)), 0)::bigint as months,
       coalesce(bool_or(monthly_limit is null), false) as "isUnlimited"
     from souk_subscription_meters($1, $3) where wallet = $2`,
    [accountId, wallet, new Date(now)],
  );
  const [left] = rows;
  return !left || left.isUnlimited ? null : left.packs + left.months;
}
