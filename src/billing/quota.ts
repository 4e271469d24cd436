import type { QuotaAnswer } from '../operations/account/quota.ts';
import type { Database } from '../platform/db/pool.ts';
import { allRows } from '../platform/db/rows.ts';
import { ERRORS } from '../platform/errors.ts';
import type { Admissions } from './admission.ts';
import { findEndings, keyWarning } from './key-warning.ts';
import type { GrantKind, OffPeakWindow, Wallet } from './wallets.ts';

/** The data of GET /api/quota without the key. Times are ISO 8601, in UTC. */
export type QuotaSnapshot = Omit<QuotaAnswer, 'key'>;

type WalletSnapshot = QuotaSnapshot['general'];

export type SubscriptionSnapshot = Extract<WalletSnapshot, { subscribed: true }>;

/** `limit` and `remaining` are null if there is no limit. */
export type Bucket = SubscriptionSnapshot['daily'];

export type PacksSnapshot = QuotaSnapshot['packs'];

export const TRACKS: Record<GrantKind, 'legacy' | 'pack'> = { subscription: 'legacy', pack: 'pack' };

/** Returns the account's quota at an instant, and the outcome of its next call of one unit. */
export async function quotaSnapshot(
  deps: { database: Database; admissions: Admissions; offPeak: OffPeakWindow },
  caller: { keyHash: Buffer; accountId: number },
  now: number,
): Promise<QuotaSnapshot> {
  const { database, admissions, offPeak } = deps;
  // A dry admission, so that the prediction always equals what the admission does.
  const prediction = await admissions.predict({ accountId: caller.accountId, keyHash: caller.keyHash }, 1);
  const at = new Date(now);
  const [subscriptions, packRows, endings] = await Promise.all([
    findSubscriptions(database, caller.accountId, at),
    findPacks(database, caller.accountId, at, offPeak),
    findEndings(database, caller, now),
  ]);
  const walletSnapshot = (wallet: Wallet): WalletSnapshot => {
    const row = subscriptions.find((subscription) => subscription.wallet === wallet);
    return row ? subscriptionSnapshot(row, wallet === 'off_peak' ? offPeak : null) : { subscribed: false };
  };
  const general = walletSnapshot('general');
  const off_peak = walletSnapshot('off_peak');
  const packs = packsSnapshot(
    packRows.filter((row) => row.id !== null),
    offPeak,
  );
  return {
    serverTime: at.toISOString(),
    offPeakWindow: offPeak,
    offPeakActive: packRows[0]?.offPeakActive ?? false,
    activeBilling: prediction.admitted ? prediction.wallet : null,
    activeBillingTrack: prediction.admitted ? TRACKS[prediction.source] : null,
    nextCallRejectReason: prediction.admitted ? null : ERRORS[prediction.error.kind].code,
    nextCallRejectMessage: prediction.admitted ? null : prediction.error.message,
    keyWarning: keyWarning(endings, { general, off_peak, packs }, now),
    general,
    off_peak,
    packs,
  };
}

function findSubscriptions(database: Database, accountId: number, at: Date) {
  return allRows<SubscriptionRow>(database, {
    name: 'quota-subscriptions',
    text: `select wallet, plan_id as "planId", plan_name as "planName", ends_at as "endsAt", quantity,
        minute_limit as "minuteLimit", minute_used as "minuteUsed", minute_end as "minuteEnd",
        daily_limit as "dailyLimit", day_used as "dayUsed", day_end as "dayEnd",
        monthly_limit as "monthlyLimit", month_used as "monthUsed", month_end as "monthEnd"
      from souk_subscription_meters($1, $2)`,
    values: [accountId, at],
  });
}

/** Returns one row, without an id, for an account without packs. */
function findPacks(database: Database, accountId: number, at: Date, { start, end, timezone }: OffPeakWindow) {
  return allRows<PackRow>(database, {
    name: 'quota-packs',
    text: `select k.id, k.wallet, k.total_units as "totalUnits", k.remaining_units as "remainingUnits",
        k.rate_limit_per_minute as "rateLimitPerMinute", k.valid_until as "validUntil",
        k.window_start as "windowStart", k.window_end as "windowEnd", k.window_timezone as "windowTimezone",
        souk_in_window($2, coalesce(k.window_start, $3), coalesce(k.window_end, $4),
          coalesce(k.window_timezone, $5)) as "inWindow",
        souk_in_window($2, $3, $4, $5) as "offPeakActive"
      from (select 1) as always
      left join packs k on k.account_id = $1 and k.valid_from <= $2 and k.valid_until > $2
      order by k.valid_until, k.id`,
    values: [accountId, at, start, end, timezone],
  });
}

interface SubscriptionRow {
  wallet: Wallet;
  planId: number;
  planName: string;
  endsAt: Date;
  quantity: number;
  minuteLimit: number | null;
  minuteUsed: number;
  minuteEnd: Date;
  dailyLimit: number | null;
  dayUsed: number;
  dayEnd: Date;
  monthlyLimit: number | null;
  monthUsed: number;
  monthEnd: Date;
}

function subscriptionSnapshot(row: SubscriptionRow, window: OffPeakWindow | null): SubscriptionSnapshot {
  return {
    subscribed: true,
    plan: { id: row.planId, name: row.planName },
    subscriptionEnd: row.endsAt.toISOString(),
    quantity: row.quantity,
    minute: bucket(row.minuteLimit, row.minuteUsed),
    daily: bucket(row.dailyLimit, row.dayUsed),
    monthly: bucket(row.monthlyLimit, row.monthUsed),
    resetAt: {
      minute: row.minuteEnd.toISOString(),
      daily: row.dayEnd.toISOString(),
      monthly: row.monthEnd.toISOString(),
    },
    ...(window ? { window } : {}),
  };
}

function bucket(limit: number | null, used: number): Bucket {
  return { limit, used, remaining: limit === null ? null : Math.max(0, limit - used) };
}

interface PackRow {
  id: number | null;
  wallet: Wallet;
  totalUnits: number;
  remainingUnits: number;
  rateLimitPerMinute: number;
  validUntil: Date;
  windowStart: string | null;
  windowEnd: string | null;
  windowTimezone: string | null;
  inWindow: boolean;
  offPeakActive: boolean;
}

function packsSnapshot(rows: readonly PackRow[], offPeak: OffPeakWindow): PacksSnapshot {
  const usable = rows.filter((row) => row.remainingUnits > 0);
  return {
    subscribed: usable.length > 0,
    totalRemainingUnits: usable.reduce((sum, row) => sum + row.remainingUnits, 0),
    rateLimitPerMinute: Math.max(0, ...usable.map((row) => row.rateLimitPerMinute)),
    earliestValidUntil: usable[0]?.validUntil.toISOString() ?? null,
    items: rows.map((row) => packSnapshot(row, offPeak)),
  };
}

function packSnapshot(row: PackRow, offPeak: OffPeakWindow): PacksSnapshot['items'][number] {
  const window = {
    start: row.windowStart?.slice(0, 5) ?? offPeak.start,
    end: row.windowEnd?.slice(0, 5) ?? offPeak.end,
    timezone: row.windowTimezone ?? offPeak.timezone,
  };
  return {
    id: row.id ?? 0,
    planType: row.wallet,
    totalUnits: row.totalUnits,
    remainingUnits: row.remainingUnits,
    remainingRatio: row.remainingUnits / row.totalUnits,
    rateLimitPerMinute: row.rateLimitPerMinute,
    validUntil: row.validUntil.toISOString(),
    ...(row.wallet === 'off_peak' ? { window, inWindow: row.inWindow } : {}),
  };
}
