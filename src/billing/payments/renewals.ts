import type { ClientBase } from 'pg';
import { lockAccount } from '../../accounts/accounts.ts';
import { unixMs } from '../../platform/db/rows.ts';
import { MINUTE_MS } from '../../platform/durations.ts';
import { grantSubscription, startSubscription } from '../grants.ts';
import type { Purchase } from './purchases.ts';
import type { PaidPeriod, StripeFacts } from './sync-renewal.ts';

/** We choose the id of Stripe's product for a plan, so that an invoice states which version of a plan it pays for. */
export function productOfPlan(planId: number): string {
  return `souk-plan-${planId}`;
}

/** @returns null for a product that is not a plan of ours. */
export function planIdOfProduct(productId: string | null): number | null {
  const found = /^souk-plan-([1-9]\d{0,8})$/.exec(productId ?? '');
  return found ? Number(found[1]) : null;
}

/** A month of a plan that an upgrade ends. Times are Unix milliseconds. */
interface UpgradedMonth {
  from: number;
  to: number;
  /** The units of the whole month; null: unlimited. */
  total: number | null;
  used: number;
}

/**
 * Returns the units of a month that count against the first month of the dearer plan. Stripe credits the price of the time that is
 * left of the month, so the customer keeps paying for the units of the time that has passed. Units used beyond these are carried
 * over.
 */
export function carriedUnits({ from, to, total, used }: UpgradedMonth, upgradedAt: number): number {
  if (total === null) return 0;
  const paidShare = Math.min(1, Math.max(0, (upgradedAt - from) / (to - from)));
  return Math.max(0, used - Math.floor(total * paidShare));
}

/**
 * active: it renews. past_due: a payment has failed, and the time of grace runs. cancelling: it ends with the month that was
 * paid.
 */
export type RenewalState = 'active' | 'past_due' | 'cancelling' | 'ended';

/** A renewing plan as it follows from Stripe's objects and the time. Times are Unix milliseconds. */
interface RenewalChanges {
  state: RenewalState;
  /** The plan of the month that was paid last. */
  planId: number;
  /** The plan of the next month, if it is another one. */
  nextPlanId: number | null;
  quantity: number;
  /** The price of the next month. */
  amountCents: number;
  /** The list price of the month that was paid last, at the quantity of the next one. */
  listCents: number;
  /** What reduces the next month, and further ones that begin before a time. */
  reduction: string | null;
  reducedUntil: number | null;
  periodStart: number;
  periodEnd: number;
  graceUntil: number | null;
  /** Paid invoices that have granted nothing yet, the earliest month first. */
  grants: PaidPeriod[];
  /** The invoice whose month was paid last. */
  lastInvoiceId: string;
  /** The last month lasts until the end of grace, because Stripe has not reported the next payment. */
  isExtended: boolean;
  /** The time of grace is over: the plan has to end at Stripe too. */
  isOverdue: boolean;
}

/** Stripe charges about an hour after a month has ended. The last month is extended this long before its end, in several attempts. */
export const EXTEND_BEFORE_MS = 30 * MINUTE_MS;

/**
 * Returns what a renewing plan is now, and which invoices still have to be granted.
 * @param granted ids of the invoices that have granted their month.
 * @returns null if nothing was ever paid.
 */
export function applySubscription(
  granted: ReadonlySet<string>,
  facts: StripeFacts,
  { now, graceMs }: { now: number; graceMs: number },
): RenewalChanges | null {
  const paid = facts.paid.toSorted((a, b) => a.from - b.from || a.to - b.to);
  const last = paid.at(-1);
  if (!last) return null;
  const graceUntil = last.to + graceMs;
  const isOverdue = facts.status === 'unpaid' && now >= graceUntil;
  const state = isOverdue ? 'ended' : stateOf(facts);
  const renews = state === 'active' || state === 'past_due';
  const reduction = facts.reduction !== null && last.to < facts.reduction.until ? facts.reduction : null;
  return {
    state,
    planId: last.planId,
    nextPlanId: renews && facts.planId !== last.planId ? facts.planId : null,
    quantity: facts.quantity,
    amountCents: Math.max(0, facts.listCents - (reduction?.amountCents ?? 0)),
    listCents: (last.listCents / last.quantity) * facts.quantity,
    reduction: reduction?.name ?? null,
    reducedUntil: reduction?.until ?? null,
    periodStart: last.from,
    periodEnd: last.to,
    graceUntil: state === 'past_due' ? graceUntil : null,
    grants: paid.filter(({ invoiceId }) => !granted.has(invoiceId)),
    lastInvoiceId: last.invoiceId,
    isExtended: isOverdue || (renews && now >= last.to - EXTEND_BEFORE_MS),
    isOverdue,
  };
}

function stateOf({ status, isCancelling }: StripeFacts): RenewalState {
  if (status === 'ended') return 'ended';
  if (status === 'unpaid') return 'past_due';
  return isCancelling ? 'cancelling' : 'active';
}

/** stale: the plan has changed since the facts were read. nothing: no invoice was ever paid. */
export type Stored =
  | { kind: 'stale' }
  | { kind: 'nothing' }
  | { kind: 'stored'; before: RenewalState | null; changes: RenewalChanges };

/**
 * Stores what follows from Stripe's objects within the caller's transaction: the state of a renewing plan, and a subscription for
 * each paid invoice that has granted none.
 * @param revision of the plan before the facts were read; 0: it was not stored.
 */
export async function storeRenewal(
  client: ClientBase,
  purchase: Purchase,
  facts: StripeFacts,
  { revision, now, graceMs }: { revision: number; now: number; graceMs: number },
): Promise<Stored> {
  await lockAccount(client, purchase.accountId);
  const { rows: known } = await client.query<{ revision: number; state: RenewalState }>(
    'select revision, state from renewing_plans where id = $1',
    [facts.id],
  );
  if ((known[0]?.revision ?? 0) !== revision) return { kind: 'stale' };
  const { rows: payments } = await client.query<{ id: string }>(
    'select id from stripe_payments where renewing_plan_id = $1',
    [facts.id],
  );
  const changes = applySubscription(new Set(payments.map(({ id }) => id)), facts, { now, graceMs });
  if (!changes) return { kind: 'nothing' };
  await savePlan(client, purchase, facts.id, changes, now);
  for (const period of changes.grants) await grantPeriod(client, purchase, facts.id, period, now);
  await setLastEnd(client, changes, { now, graceMs });
  return { kind: 'stored', before: known[0]?.state ?? null, changes };
}

async function savePlan(
  client: ClientBase,
  { id: purchaseId, accountId, wallet }: Purchase,
  id: string,
  changes: RenewalChanges,
  now: number,
): Promise<void> {
  const { state, planId, nextPlanId, quantity, amountCents, periodStart, periodEnd, graceUntil } = changes;
  const { listCents, reduction, reducedUntil } = changes;
  await client.query(
    `insert into renewing_plans as p (id, account_id, purchase_id, wallet, state, plan_id, next_plan_id, quantity,
       amount_cents, period_start, period_end, grace_until, seen_at, list_cents, reduction, reduced_until)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $15, $16, $17)
     on conflict (id) do update set state = excluded.state, plan_id = excluded.plan_id,
       next_plan_id = excluded.next_plan_id, quantity = excluded.quantity, amount_cents = excluded.amount_cents,
       period_start = excluded.period_start, period_end = excluded.period_end, grace_until = excluded.grace_until,
       seen_at = excluded.seen_at, list_cents = excluded.list_cents, reduction = excluded.reduction,
       reduced_until = excluded.reduced_until,
       revision = p.revision + case when $14 or
         (p.state, p.plan_id, p.next_plan_id, p.quantity, p.amount_cents, p.period_end) is distinct from
         (excluded.state, excluded.plan_id, excluded.next_plan_id, excluded.quantity, excluded.amount_cents,
          excluded.period_end) then 1 else 0 end`,
    [
      id,
      accountId,
      purchaseId,
      wallet,
      state,
      planId,
      nextPlanId,
      quantity,
      amountCents,
      new Date(periodStart),
      new Date(periodEnd),
      graceUntil === null ? null : new Date(graceUntil),
      new Date(now),
      changes.grants.length > 0,
      listCents,
      reduction,
      reducedUntil === null ? null : new Date(reducedUntil),
    ],
  );
}

/**
 * Grants the month of a paid invoice. If a month of the same plan is under way, as before an upgrade, it ends when the
 * new month starts. Units used in it beyond its paid time count against the new month.
 */
async function grantPeriod(
  client: ClientBase,
  { id: purchaseId, accountId, wallet }: Purchase,
  renewingPlanId: string,
  { invoiceId, paymentIntentId, planId, quantity, amountCents, from, to }: PaidPeriod,
  now: number,
): Promise<void> {
  const { rows: upgraded } = await client.query<UpgradedMonth>(
    `update subscriptions s set ends_at = greatest($2, s.starts_at + interval '1 second')
     from stripe_payments p, plans l
     where p.renewing_plan_id = $1 and s.id = p.subscription_id and s.starts_at <= $2 and s.ends_at > $2
       and l.id = s.plan_id
     returning ${unixMs('s.starts_at')} as "from", ${unixMs('p.ends_at')} as "to", l.monthly_limit * s.quantity as total,
       s.month_used as used`,
    [renewingPlanId, new Date(from)],
  );
  const carried = upgraded.reduce((sum, month) => sum + carriedUnits(month, from), 0);
  // If another subscription runs at that time, for example one that the operator granted, the month starts when that subscription ends.
  const startsAt = await startSubscription(client, { accountId, wallet, isPaid: true, from }, now);
  const endsAt = new Date(startsAt.getTime() + to - from);
  const grant = { accountId, wallet, planId, quantity, startsAt, endsAt, months: 1 };
  const subscriptionId = await grantSubscription(client, grant);
  if (carried > 0) await carryOver(client, { accountId, subscriptionId, carried }, now);
  await client.query(
    `insert into stripe_payments (id, payment_intent_id, account_id, purchase_id, renewing_plan_id, subscription_id,
       ends_at, at, amount_cents)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      invoiceId,
      paymentIntentId,
      accountId,
      purchaseId,
      renewingPlanId,
      subscriptionId,
      endsAt,
      new Date(now),
      amountCents,
    ],
  );
  await client.query(
    `update orders set state = 'granted', ended_at = $2, subscription_id = $3 where id = $1 and state <> 'granted'`,
    [purchaseId, new Date(now), subscriptionId],
  );
}

/** Counts units as used of a month that has just been granted. */
async function carryOver(
  client: ClientBase,
  { accountId, subscriptionId, carried }: { accountId: number; subscriptionId: number; carried: number },
  now: number,
): Promise<void> {
  await client.query(
    'update subscriptions set month_start = starts_at, month_end = ends_at, month_used = $2 where id = $1',
    [subscriptionId, carried],
  );
  await client.query(
    `insert into ledger (account_id, at, kind, source, source_id, units) values ($1, $2, 'revoke', 'subscription', $3, $4)`,
    [accountId, new Date(now), subscriptionId, carried],
  );
}

/** Extends the month that was paid last until the end of grace, but not into another subscription; or ends it on time. */
async function setLastEnd(
  client: ClientBase,
  { lastInvoiceId, isExtended }: RenewalChanges,
  { now, graceMs }: { now: number; graceMs: number },
): Promise<void> {
  await client.query(
    `update subscriptions s set ends_at = e.ends_at
     from stripe_payments p
     join subscriptions o on o.id = p.subscription_id
     cross join lateral (
       select least(
         case when $2 then p.ends_at + $3 * interval '1 millisecond' else greatest(p.ends_at, least(o.ends_at, $4)) end,
         (select min(n.starts_at) from subscriptions n
          where n.account_id = o.account_id and n.wallet = o.wallet and n.starts_at > o.starts_at)) as ends_at
     ) as e
     where p.id = $1 and s.id = o.id and p.reversed_share < 1 and s.ends_at <> e.ends_at`,
    [lastInvoiceId, isExtended, graceMs, new Date(now)],
  );
}
