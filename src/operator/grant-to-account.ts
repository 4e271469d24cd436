import { z } from 'zod';
import { grantPack, grantSubscription, type PackGrant, type SubscriptionGrant } from '../billing/grants.ts';
import { monthsAfter } from '../platform/calendar.ts';
import type { Database } from '../platform/db/pool.ts';
import { instant, ownWindow, requireOffPeak, WINDOW_WITHOUT_WALLET, wallet, wholeNumber } from './fields.ts';

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

/** Grants an account a subscription. @throws GrantRefused if it overlaps another one of the wallet. */
export async function grantPlanTo(
  database: Database,
  { accountId, planId }: { accountId: number; planId: number },
  fields: z.output<typeof subscriptionFields>,
  now: number,
): Promise<SubscriptionGrant & { id: number }> {
  const startsAt = fields.starts ?? new Date(now);
  const endsAt = monthsAfter(startsAt, fields.months);
  const { wallet, quantity } = fields;
  const grant = { accountId, wallet, planId, quantity, startsAt, endsAt };
  return { id: await grantSubscription(database, grant), ...grant };
}

/** Grants an account a pack. */
export async function grantUnitsTo(
  database: Database,
  accountId: number,
  { units, wallet, rate, validDays, window }: z.output<typeof packFields>,
  now: number,
): Promise<PackGrant & { id: number }> {
  const [validFrom, validUntil] = [new Date(now), new Date(now + validDays * DAY_MS)];
  const grant = { accountId, wallet, units, rateLimitPerMinute: rate, validFrom, validUntil, window };
  return { id: await grantPack(database, grant, now), ...grant };
}
