import type { Queryable } from '../../platform/db/pool.ts';
import { ORDER_COLUMNS, type Order } from './orders.ts';

export interface OrderWithAccount extends Order {
  email: string;
}

/** Orders of all accounts, the newest first: those that wait for payment, or those that ended. */
export async function ordersWithAccounts(
  database: Queryable,
  /** `before`: the last order of the page before. */
  { pending, before, limit }: { pending: boolean; before: string | null; limit: number },
): Promise<OrderWithAccount[]> {
  const { rows } = await database.query<OrderWithAccount>(
    `select (select email from accounts a where a.id = account_id) as email, ${ORDER_COLUMNS} from orders
     where (state = 'pending') = $1
       and ($2::uuid is null or (created_at, id) < (select created_at, id from orders where id = $2))
     order by created_at desc, id desc limit $3`,
    [pending, before, limit],
  );
  return rows;
}
