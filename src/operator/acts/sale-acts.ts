import { isDeepStrictEqual } from 'node:util';
import type { ClientBase } from 'pg';
import { z } from 'zod';
import {
  GrantRefused,
  grantPack,
  grantSubscription,
  type PackGrant,
  type StoredPlan,
  type SubscriptionGrant,
} from '../../billing/grants.ts';
import {
  listAllPacks,
  listAllPlans,
  type OperatorPack,
  type OperatorPlan,
  savePack,
  savePlan,
} from '../../billing/payments/offers.ts';
import {
  cancelPurchase,
  findPurchase,
  grantPurchase,
  type Purchase,
} from '../../billing/payments/purchases.ts';
import {
  createReduction,
  endReduction,
  type NewReduction,
  type UsedReduction,
} from '../../billing/payments/reductions.ts';
import { monthsAfter } from '../../platform/calendar.ts';
import { createAnnouncement, endAnnouncement, type NewAnnouncement } from '../announcements.ts';
import { type AuditAction, type AuditLine, audited, auditedAs, type Operating } from '../audit.ts';
import { instant, ownWindow, requireOffPeak, WINDOW_WITHOUT_WALLET, wallet, wholeNumber } from '../fields.ts';
import { addNote } from '../status/incidents.ts';

/** Acts of the operator on purchases, and on the plans and packs for sale. */
export const saleActs = {
  /** Confirms the payment of a purchase, which grants it once. @returns null if the purchase does not exist. */
  confirm: (by: Operating, purchaseId: string): Promise<Purchase | null> =>
    end(by, purchaseId, 'purchase.confirmed', grantPurchase),

  /** @returns the purchase, or null if it was not pending. */
  cancel: (by: Operating, purchaseId: string): Promise<Purchase | null> =>
    end(by, purchaseId, 'purchase.cancelled', cancelPurchase),

  /** Creates a plan, or changes what is sold from now on. @returns false if the code of a new plan exists. */
  savePlan(by: Operating, plan: Omit<OperatorPlan, 'running'>, isNew: boolean): Promise<boolean> {
    return audited(by, async (client) => {
      const before = (await listAllPlans(client, by.now)).find(({ code }) => code === plan.code);
      const isSaved = await savePlan(client, plan, { isNew, now: by.now });
      return { result: isSaved, line: isSaved ? saved('plan.saved', before, plan) : null };
    });
  },

  /** Creates a pack for sale, or changes it. @returns false if the code of a new pack exists. */
  savePack(by: Operating, pack: OperatorPack, isNew: boolean): Promise<boolean> {
    return audited(by, async (client) => {
      const before = (await listAllPacks(client)).find(({ code }) => code === pack.code);
      const isSaved = await savePack(client, pack, isNew);
      return { result: isSaved, line: isSaved ? saved('offer.saved', before, pack) : null };
    });
  },

  /** Creates a coupon or a discount. @returns it, or the field that prevents it and why. */
  createReduction: (by: Operating, reduction: NewReduction) =>
    auditedAs(
      by,
      (client) => createReduction(client, reduction, by.now),
      (made) => ('fault' in made ? null : reductionLine('reduction.created', made, reduction)),
    ),

  /** Ends a coupon or a discount now. @returns null if there is no such one that runs. */
  endReduction: (by: Operating, id: number) =>
    auditedAs(
      by,
      (client) => endReduction(client, id, by.now),
      (ended) => reductionLine('reduction.ended', ended),
    ),
};

function reductionLine(
  action: AuditAction,
  { id, code, accountId }: UsedReduction,
  after?: NewReduction,
): AuditLine {
  const line = {
    action,
    target: code === null ? `discount ${id}` : `coupon ${code}`,
    ...(after && { after: { ...after } }),
  };
  return accountId === null ? line : { ...line, accountId };
}

function end(
  by: Operating,
  purchaseId: string,
  action: AuditAction,
  change: (client: ClientBase, id: string, now: number) => Promise<Purchase | null>,
): Promise<Purchase | null> {
  return audited(by, async (client) => {
    const before = await findPurchase(client, purchaseId);
    const purchase = await change(client, purchaseId, by.now);
    if (!purchase) return { result: null, line: null };
    const { accountId, state } = purchase;
    const states = { before: { state: before?.state }, after: { state } };
    return { result: purchase, line: { action, accountId, target: purchaseId, ...states } };
  });
}

/** The line of a plan or pack; its values are those that differ. */
function saved(action: AuditAction, before: object | undefined, after: { code: string }) {
  const old = new Map<string, unknown>(Object.entries(before ?? {}));
  const changed = Object.entries(after).filter(([name, value]) => !isDeepStrictEqual(value, old.get(name)));
  const line = { action, target: after.code, after: Object.fromEntries(changed) };
  if (!before) return line;
  return { ...line, before: Object.fromEntries(changed.map(([name]) => [name, old.get(name)])) };
}

const DAY_MS = 86_400_000;

/** Units that a person with the role support may grant in a UTC day; default of the setting SUPPORT_GRANT_UNITS. */
export const SUPPORT_GRANT_UNITS = 10_000;

/**
 * Refuses a pack beyond the units that a person may grant in a UTC day, by the lines of the audit log. Grants of the person happen
 * one after the other.
 * @throws GrantRefused.
 */
async function requireWithin(
  client: ClientBase,
  { operator: { personId } }: Operating,
  units: number,
  mostADay: number,
): Promise<void> {
  if (personId === undefined) throw new Error('the limit is for people');
  await client.query('select 1 from people where id = $1 for no key update', [personId]);
  const { rows } = await client.query<{ granted: number }>(
    `select coalesce(sum((after ->> 'units')::bigint), 0)::bigint as granted from audit_log
     where person_id = $1 and action = 'pack.granted' and at >= date_trunc('day', clock_timestamp(), 'UTC')`,
    [personId],
  );
  const left = Math.max(0, mostADay - (rows[0]?.granted ?? 0));
  if (units <= left) return;
  const [most, rest] = [mostADay, left].map((number) => number.toLocaleString('en-US'));
  throw new GrantRefused(
    `Your role support grants at most ${most} units a day. You can grant ${rest} more today. Ask finance or an operator for more.`,
  );
}

/** The fields of a subscription grant. */
export const subscriptionFields = z.object({
  plan: z.string(),
  quantity: wholeNumber(1, 1_000),
  wallet,
  months: wholeNumber(1, 120),
  /** Default: now. */
  starts: instant.optional(),
});

/** The fields of a pack grant. */
export const packFields = z
  .object({
    units: wholeNumber(1, 1_000_000_000_000),
    wallet,
    rate: wholeNumber(1, 1_000_000),
    validDays: wholeNumber(1, 3_650),
    window: ownWindow,
  })
  .refine(requireOffPeak, WINDOW_WITHOUT_WALLET);

/** Acts of the operator that grant units to an account without a purchase. */
export const grantActs = {
  /** @throws GrantRefused if the subscription overlaps another one of the wallet. */
  plan(
    by: Operating,
    { accountId, plan }: { accountId: number; plan: Pick<StoredPlan, 'id' | 'code'> },
    { wallet, quantity, months, starts }: z.output<typeof subscriptionFields>,
  ): Promise<SubscriptionGrant & { id: number }> {
    return audited(by, async (client) => {
      const startsAt = starts ?? new Date(by.now);
      const endsAt = monthsAfter(startsAt, months);
      const grant = { accountId, wallet, planId: plan.id, quantity, startsAt, endsAt };
      const id = await grantSubscription(client, grant);
      const after = { id, plan: plan.code, wallet, quantity, startsAt, endsAt };
      return { result: { id, ...grant }, line: { action: 'subscription.granted', accountId, after } };
    });
  },

  /**
   * @param mostADay the units that the person may grant in packs in a UTC day. Default: any number.
   * @throws GrantRefused if they would be exceeded.
   */
  pack(
    by: Operating,
    accountId: number,
    { units, wallet, rate, validDays, window }: z.output<typeof packFields>,
    mostADay = Number.POSITIVE_INFINITY,
  ): Promise<PackGrant & { id: number }> {
    return audited(by, async (client) => {
      if (mostADay < Number.POSITIVE_INFINITY) await requireWithin(client, by, units, mostADay);
      const [validFrom, validUntil] = [new Date(by.now), new Date(by.now + validDays * DAY_MS)];
      const terms = { wallet, units, rateLimitPerMinute: rate, validFrom, validUntil, window };
      const grant = { accountId, ...terms };
      const id = await grantPack(client, grant, by.now);
      return {
        result: { id, ...grant },
        line: { action: 'pack.granted', accountId, after: { id, ...terms } },
      };
    });
  },
};

/** Acts of the operator on what all visitors see: announcements, and notes to incidents. */
export const noticeActs = {
  /** @returns null if the announcement would end before it starts, or has ended. */
  announce: (by: Operating, fields: NewAnnouncement) =>
    auditedAs(
      by,
      (client) => createAnnouncement(client, fields, by.now),
      ({ id, ...after }) => ({ action: 'announcement.created', target: String(id), after }),
    ),

  /** Ends an announcement now. @returns null if there is no such announcement that has not ended. */
  endAnnouncement: (by: Operating, id: number) =>
    auditedAs(by, (client) => endAnnouncement(client, id, by.now), {
      action: 'announcement.ended',
      target: String(id),
    }),

  /** @returns false if there is no such incident. */
  noteIncident: (by: Operating, id: number, text: string) =>
    auditedAs(by, (client) => addNote(client, id, { at: new Date(by.now).toISOString(), text }), {
      action: 'incident.noted',
      target: String(id),
      after: { text },
    }),
};
