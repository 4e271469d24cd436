import type { Queryable } from '../../platform/db/pool.ts';
import { PURCHASE_COLUMNS, type Purchase } from './purchases.ts';

export interface PurchaseWithAccount extends Purchase {
  email: string;
}

/** Lists purchases of all accounts, the newest first: those with a pending payment, or those that ended. */
export async function purchasesWithAccounts(
  database: Queryable,
  /** `before`: the last purchase of the previous page. */
  { pending, before, limit }: { pending: boolean; before: string | null; limit: number },
): Promise<PurchaseWithAccount[]> {
  const { rows } = await database.query<PurchaseWithAccount>(
    `select (select email from accounts a where a.id = account_id) as email, ${PURCHASE_COLUMNS} from orders
     where (state = 'pending') = $1
       and ($2::uuid is null or (created_at, id) < (select created_at, id from orders where id = $2))
     order by created_at desc, id desc limit $3`,
    [pending, before, limit],
  );
  return rows;
}
