import type { ClientBase } from 'pg';
import { lockAccount } from '../../accounts/accounts.ts';
import { allRows, firstRow, only } from '../../platform/db/rows.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import type { GrantKind } from '../wallets.ts';
import type { StripeContext } from './stripe/stripe-context.ts';

/** The disputes for which Stripe has taken the money back. Inquiries (`warning_...`) leave it. */
const TAKES_MONEY: ReadonlySet<string> = new Set(['needs_response', 'under_review', 'lost']);

/** Returns the share of a payment that refunds and disputes have reversed, from 0 to 1. @param charge amounts in cents. */
export function reversedShare(
  charge: { amount: number; amountRefunded: number },
  disputeStates: readonly string[],
): number {
  if (disputeStates.some((state) => TAKES_MONEY.has(state))) return 1;
  return charge.amount === 0 ? 0 : Math.min(1, charge.amountRefunded / charge.amount);
}

/**
 * Returns how many units to take back from a grant; a negative number is given back. Never takes more than is left, and never
 * gives back more than was taken.
 */
export function unitsToRevoke(
  { total, left, revoked }: { total: number; left: number; revoked: number },
  share: number,
): number {
  const wanted = Math.floor(total * share);
  return wanted > revoked ? Math.min(wanted - revoked, Math.max(0, left)) : wanted - revoked;
}

/** What a payment through Stripe has granted. */
interface PaidGrant {
  id: string;
  accountId: number;
  subscriptionId: number | null;
  packId: number | null;
  reversedShare: number;
  unitsRevoked: number;
  amountCents: number;
  /** Changes with every change of the row. */
  revision: string;
}

const reversedCents = ({ amountCents }: PaidGrant, share: number) => Math.round(amountCents * share);

/**
 * Takes back the unused units of a payment of which a share was reversed, or gives them back, within the caller's transaction.
 * @returns false if the grant has changed since it was read.
 */
async function storeReversal(client: ClientBase, grant: PaidGrant, share: number, now: number) {
  await lockAccount(client, grant.accountId);
  const { rowCount } = await client.query(
    'select 1 from stripe_payments where id = $1 and xmin::text = $2 for update',
    [grant.id, grant.revision],
  );
  if (rowCount === 0) return false;
  const units =
    grant.packId === null
      ? await fromMonth(client, grant, share, now)
      : await fromPack(client, grant, share, now);
  if (units === 0 && share === grant.reversedShare) return true;
  await client.query(
    `update stripe_payments set reversed_share = $2, units_revoked = units_revoked + $3,
       reversals = reversals || case when $4 <> 0 then jsonb_build_array(jsonb_build_object('at', $5::timestamptz, 'cents', $4::bigint))
         else '[]' end
     where id = $1`,
    [
      grant.id,
      share,
      units,
      reversedCents(grant, share) - reversedCents(grant, grant.reversedShare),
      new Date(now),
    ],
  );
  return true;
}

async function fromPack(client: ClientBase, grant: PaidGrant, share: number, now: number): Promise<number> {
  const { rows } = await client.query<{ total: number; left: number }>(
    'select total_units as total, remaining_units as left from packs where id = $1',
    [grant.packId],
  );
  const units = unitsToRevoke({ ...only(rows), revoked: grant.unitsRevoked }, share);
  await client.query('update packs set remaining_units = remaining_units - $2 where id = $1', [
    grant.packId,
    units,
  ]);
  await addLine(client, grant, 'pack', units, now);
  // Units that return to a pack whose validity is over expire immediately.
  if (units < 0) await client.query('select souk_expire_packs($1, $2)', [new Date(now), [grant.accountId]]);
  return units;
}

/** Takes units from the present month of a plan. A payment that was reversed as a whole also ends the plan. */
async function fromMonth(client: ClientBase, grant: PaidGrant, share: number, now: number): Promise<number> {
  const month = await firstRow<{ total: number | null; used: number }>(
    client,
    `select p.monthly_limit * s.quantity as total,
       case when s.month_start = m.month_start then s.month_used else 0 end as used
     from subscriptions s join plans p on p.id = s.plan_id
     cross join lateral souk_month(s, greatest($2, s.starts_at)) as m
     where s.id = $1 and greatest(s.ends_at, (select ends_at from stripe_payments where id = $3)) > $2`,
    [grant.subscriptionId, new Date(now), grant.id],
  );
  // The units of a month that is over have ended with it.
  if (!month) return 0;
  const { total, used } = month;
  const meter = { total: total ?? 0, left: (total ?? 0) - used, revoked: grant.unitsRevoked };
  const units = Math.max(unitsToRevoke(meter, share), -used);
  await client.query(
    `update subscriptions s set month_used = $3 + $4, month_start = m.month_start, month_end = m.month_end
     from subscriptions o cross join lateral souk_month(o, greatest($2, o.starts_at)) as m
     where o.id = $1 and s.id = o.id and $4 <> 0`,
    [grant.subscriptionId, new Date(now), used, units],
  );
  await addLine(client, grant, 'subscription', units, now);
  if (share === 1 || grant.reversedShare === 1) await setEnd(client, grant, share === 1, now);
  return units;
}

/** Ends a subscription, or continues it until its end or the start of the next one of its wallet. */
async function setEnd(
  client: ClientBase,
  { id, subscriptionId }: PaidGrant,
  isReversed: boolean,
  now: number,
): Promise<void> {
  await client.query(
    `update subscriptions s set ends_at = case
       when $3 then greatest(least(s.ends_at, $4), s.starts_at + interval '1 second')
       else greatest(s.ends_at, least((select ends_at from stripe_payments where id = $2),
         (select min(n.starts_at) from subscriptions n
          where n.account_id = s.account_id and n.wallet = s.wallet and n.starts_at > s.starts_at)))
       end
     where s.id = $1`,
    [subscriptionId, id, isReversed, new Date(now)],
  );
}

async function addLine(
  client: ClientBase,
  { accountId, packId, subscriptionId }: PaidGrant,
  source: GrantKind,
  units: number,
  now: number,
): Promise<void> {
  if (units === 0) return;
  await client.query(
    'insert into ledger (account_id, at, kind, source, source_id, units) values ($1, $2, $3, $4, $5, $6)',
    [
      accountId,
      new Date(now),
      units > 0 ? 'revoke' : 'restore',
      source,
      packId ?? subscriptionId,
      Math.abs(units),
    ],
  );
}

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

function grantsOf({ database }: StripeContext, paymentIntentId: string) {
  return allRows<PaidGrant>(
    database,
    `select id, account_id as "accountId", subscription_id as "subscriptionId", pack_id as "packId",
       reversed_share as "reversedShare", units_revoked as "unitsRevoked", amount_cents as "amountCents", xmin::text as revision
     from stripe_payments where payment_intent_id = $1 order by id`,
    [paymentIntentId],
  );
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
