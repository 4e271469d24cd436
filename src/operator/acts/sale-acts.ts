import { isDeepStrictEqual } from 'node:util';
import type { ClientBase } from 'pg';
import {
  listAllPacks,
  listAllPlans,
  type OperatorPack,
  type OperatorPlan,
  savePack,
  savePlan,
} from '../../billing/payments/change-offers.ts';
import {
  cancelPurchase,
  findPurchase,
  grantPurchase,
  type Purchase,
} from '../../billing/payments/purchases.ts';
import type { AuditAction } from '../audit/audit-actions.ts';
import { audited, type Operating } from '../audit/audit-log.ts';

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
};

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
