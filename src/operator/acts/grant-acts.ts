import { z } from 'zod';
import {
  grantPack,
  grantSubscription,
  type PackGrant,
  type StoredPlan,
  type SubscriptionGrant,
} from '../../billing/grants.ts';
import { monthsAfter } from '../../platform/calendar.ts';
import { audited, type Operating } from '../audit/audit-log.ts';
import { instant, ownWindow, requireOffPeak, WINDOW_WITHOUT_WALLET, wallet, wholeNumber } from '../fields.ts';

const DAY_MS = 86_400_000;

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

  pack(
    by: Operating,
    accountId: number,
    { units, wallet, rate, validDays, window }: z.output<typeof packFields>,
  ): Promise<PackGrant & { id: number }> {
    return audited(by, async (client) => {
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
