import { findAccount } from '../../../accounts/accounts.ts';
import type { StripeContext } from './stripe-context.ts';

/** Returns the id of the account's customer at Stripe. It is created once and kept. */
export async function customerOf(context: StripeContext, accountId: number): Promise<string> {
  const known = await knownCustomer(context, accountId);
  if (known !== null) return known;
  const { database, api } = context;
  const account = await findAccount(database, accountId);
  if (!account) throw new Error(`The account ${accountId} does not exist`);
  const { email, name } = account;
  const stripe = await api();
  const created = await stripe.customers.create(
    { email, name, metadata: { account: String(accountId) } },
    // With this idempotency key, two requests at the same time create one customer.
    { idempotencyKey: `customer ${accountId} ${email}`.slice(0, 255) },
  );
  await database.query(
    'insert into stripe_customers (account_id, customer_id) values ($1, $2) on conflict (account_id) do nothing',
    [accountId, created.id],
  );
  return (await knownCustomer(context, accountId)) ?? created.id;
}

/** @returns null if the account has never paid through Stripe. */
export async function knownCustomer(
  { database }: Pick<StripeContext, 'database'>,
  accountId: number,
): Promise<string | null> {
  const { rows } = await database.query<{ customerId: string }>(
    'select customer_id as "customerId" from stripe_customers where account_id = $1',
    [accountId],
  );
  return rows[0]?.customerId ?? null;
}
