import type { ClientBase } from 'pg';
import type { Queryable } from '../../platform/db/pool.ts';
import { nextSubscriptionStart, subscriptionTimes } from '../grants.ts';
import type { Wallet } from '../wallets.ts';
import type { Offer } from './offers.ts';

/** An invalid purchase. The message is for the buyer. */
export class PurchaseRefused extends Error {}

/** The most purchases of an account that are pending or cancelled. Cancelled ones are deleted after a while. */
export const UNFINISHED_PURCHASES = 100;

/** A payment that Stripe reports later than this finds no purchase. Its pages expire after a day; bank transfers take two weeks. */
export const UNFINISHED_KEPT_DAYS = 30;

/** A purchase that is not paid leaves a row, and costs nothing. */
export async function refuseManyUnfinished(client: ClientBase, accountId: number): Promise<void> {
  const { rows } = await client.query<{ unfinished: number }>(
    `select count(*)::int as unfinished from orders where account_id = $1 and state <> 'granted'`,
    [accountId],
  );
  if ((rows[0]?.unfinished ?? 0) >= UNFINISHED_PURCHASES)
    throw new PurchaseRefused(
      `Your account has ${UNFINISHED_PURCHASES} purchases that were not paid. Pay one of those that are pending, or try again later: unpaid purchases are deleted after ${UNFINISHED_KEPT_DAYS} days.`,
    );
}

/** The owners of an account can have a free offer once, in one of their accounts, for one month. */
export async function refuseSecondFreeOne(
  client: ClientBase,
  accountId: number,
  offer: Offer,
  { quantity, months }: { quantity: number; months: number },
): Promise<void> {
  if (quantity > 1 || months > 1)
    throw new PurchaseRefused(
      offer.priceCents === 0
        ? `${offer.name} can be bought once, for one month.`
        : `${offer.name} is free in a quantity of 1 only, and for one month.`,
    );
  // Of two purchases in accounts of the same owner, the second waits for the first.
  await client.query(
    `select 1 from people p join members m on m.person_id = p.id and m.account_id = $1 and m.role = 'owner'
     order by p.id for no key update of p`,
    [accountId],
  );
  const { rowCount } = await client.query(
    `select 1 from orders
     where account_id in (${ACCOUNTS_OF_OWNERS}) and kind = $2 and offer_code = $3 and amount_cents = 0 and state <> 'cancelled'`,
    [accountId, offer.kind, offer.code],
  );
  if (rowCount)
    throw new PurchaseRefused(
      offer.priceCents === 0
        ? `You have already used ${offer.name}. Each customer can have it once.`
        : `You have already had ${offer.name} for free. Each customer can have it so once.`,
    );
}

/** A free plan that waited for a paid one would later delay the next paid one. */
export async function refuseBesideOthers(
  client: ClientBase,
  { accountId, wallet, name }: { accountId: number; wallet: Wallet; name: string },
  now: number,
): Promise<void> {
  const present = await presentPlans(client, accountId, wallet, now);
  if (present !== null) throw new PurchaseRefused(`${name} is for accounts without a plan. ${present}`);
}

/** A plan that renews has its wallet for itself: Stripe charges for its months as they come. */
export async function refuseBesideRenewal(
  client: ClientBase,
  { accountId, wallet, renews }: { accountId: number; wallet: Wallet; renews: boolean },
  now: number,
): Promise<void> {
  const { rowCount: renewing } = await client.query(
    `select 1 from renewing_plans where account_id = $1 and wallet = $2 and state <> 'ended'`,
    [accountId, wallet],
  );
  if (renewing)
    throw new PurchaseRefused(
      'This wallet has a plan that renews. Change that plan instead, or let it end first.',
    );
  if (!renews) return;
  const startsAt = await nextSubscriptionStart(client, { accountId, wallet, isPaid: true }, now);
  if (startsAt.getTime() > now)
    throw new PurchaseRefused(
      `${await presentPlans(client, accountId, wallet, now)} A plan that renews can be bought after that. To get more units before that, buy a pack.`,
    );
}

/** A plan that renews would be charged again, and the erasure of the account would wait for its end. */
export async function refuseRenewalBeforeErasure(client: ClientBase, accountId: number): Promise<void> {
  const { rowCount } = await client.query('select from accounts where id = $1 and erase_at is not null', [
    accountId,
  ]);
  if (rowCount)
    throw new PurchaseRefused(
      'This account will be deleted. To buy a plan that renews, choose "Keep this account" on the page Settings first.',
    );
}

/** Returns a text that says how long the plans of a wallet run; null if it has none. */
async function presentPlans(
  client: ClientBase,
  accountId: number,
  wallet: Wallet,
  now: number,
): Promise<string | null> {
  const plans = (await subscriptionTimes(client, accountId, now)).filter((plan) => plan.wallet === wallet);
  if (plans.length === 0) return null;
  return plans
    .map(({ planName, endsAt }) => `Your plan ${planName} runs until ${endsAt.toISOString()}.`)
    .join(' ');
}

/** Which accounts may take a free offer without the operator: all, those with a confirmed e-mail address, or none. */
export const TRIAL_RULES = ['open', 'confirmed', 'manual'] as const;

export type TrialRule = (typeof TRIAL_RULES)[number];

/** `confirmed by mail`: as `confirmed`, and customers confirm their addresses by the link in a mail. */
export type TrialPolicy = TrialRule | 'confirmed by mail';

/** Returns the policy of an installation. Where mails are sent, a trial always requires a confirmed address. */
export function trialPolicyOf(rule: TrialRule, sendsMails: boolean): TrialPolicy {
  return sendsMails && rule !== 'manual' ? 'confirmed by mail' : rule;
}

/** The free offers that an account has taken, by kind and code. */
type TakenOffers = ReadonlySet<string>;

/** The accounts of the owners of account $1, with that account. */
export const ACCOUNTS_OF_OWNERS = `
  select $1::bigint as id
  union
  select theirs.account_id from members own join members theirs on theirs.person_id = own.person_id
  where own.account_id = $1 and own.role = 'owner' and theirs.role = 'owner'`;

/** Returns the free offers that an account, or another one of its owners, has taken. Each can be taken once. */
export async function takenOffers(database: Queryable, accountId: number): Promise<TakenOffers> {
  const { rows } = await database.query<{ offer: string }>(
    `select distinct kind || ' ' || offer_code as offer from orders
     where account_id in (${ACCOUNTS_OF_OWNERS}) and amount_cents = 0 and state <> 'cancelled'`,
    [accountId],
  );
  return new Set(rows.map(({ offer }) => offer));
}

export function isTaken(taken: TakenOffers, { kind, code, priceCents }: Offer): boolean {
  return priceCents === 0 && taken.has(`${kind} ${code}`);
}

/** Why an account may not take a free offer, as a text for its customer; null if it may. */
export async function trialRefusal(
  database: Queryable,
  rule: TrialPolicy,
  accountId: number,
): Promise<string | null> {
  if (rule === 'open') return null;
  if (rule === 'manual') return 'The operator of this service grants trials. Contact the operator.';
  const { rows } = await database.query<{ confirmed: boolean }>(
    'select email_confirmed_at is not null as confirmed from account_owners where account_id = $1',
    [accountId],
  );
  if (rows[0]?.confirmed) return null;
  return `A trial requires a confirmed e-mail address. ${rule === 'confirmed' ? 'Ask the operator of this service to confirm yours.' : 'Open the link in the mail that you have received.'}`;
}
