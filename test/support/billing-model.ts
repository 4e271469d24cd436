import type { GrantKind, OffPeakWindow, Wallet } from '../../src/billing/wallets.ts';
import { DAY_MS, MINUTE_MS } from '../../src/platform/durations.ts';
import type { ErrorKind } from '../../src/platform/errors.ts';
import { OFF_PEAK, type PackGrant, type SubscriptionGrant } from './billing.ts';
import { isInWindow } from './wall-clock.ts';

/**
 * A model of the rules of billing in plain code without a database, with which the service is compared.
 */
export interface BillingModel {
  admit(callId: string, units: number, at: number): Verdict;
  /** Ends a call: charges at most `units` and releases the rest. A charged call that ends again with 0 is refunded. */
  end(callId: string, units: number): number;
  /** Units used in the present day and month of each subscription, and left in each pack. */
  meters(at: number): { subscriptions: { day: number; month: number }[]; packs: { left: number }[] };
}

export type Verdict =
  /** The first source of the next call. */
  | { admitted: true; wallet: Wallet; source: GrantKind }
  | { admitted: false; reason: ErrorKind; remaining: number };

interface Draw {
  source: Subscription | Pack;
  units: number;
  at: number;
}

/** A number for the month an instant lies in: months start at the day and time of `start`, or on the last day of shorter ones. */
function monthOf(at: number, start: Date): number {
  const date = new Date(at);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const timeOfDay = start.getTime() - Math.floor(start.getTime() / DAY_MS) * DAY_MS;
  const turn = Date.UTC(year, month, Math.min(start.getUTCDate(), lastDay)) + timeOfDay;
  return year * 12 + month - (at >= turn ? 0 : 1);
}

class Subscription {
  readonly kind = 'subscription';
  readonly wallet;
  /** The hours of the pack. A subscription has those of the service. */
  readonly window = undefined;
  readonly #grant: SubscriptionGrant;
  readonly #uses: { at: number; units: number }[] = [];

  constructor(grant: SubscriptionGrant) {
    this.#grant = grant;
    this.wallet = grant.wallet ?? 'general';
  }

  isValid(at: number): boolean {
    const { startsAt, endsAt } = this.#grant;
    return at >= (startsAt?.getTime() ?? Number.NEGATIVE_INFINITY) && at < (endsAt?.getTime() ?? Infinity);
  }

  used(at: number): { day: number; month: number } {
    const start = this.#grant.startsAt ?? new Date(0);
    const sum = (counts: (use: number) => boolean) =>
      this.#uses.filter((use) => counts(use.at)).reduce((total, { units }) => total + units, 0);
    return {
      day: sum((use) => Math.floor(use / DAY_MS) === Math.floor(at / DAY_MS)),
      month: sum((use) => monthOf(use, start) === monthOf(at, start)),
    };
  }

  left(at: number): number {
    return Math.min(this.#limit(this.#grant.dailyLimit) - this.used(at).day, this.#monthLeft(at));
  }

  whyEmpty(at: number): ErrorKind {
    return this.#monthLeft(at) <= 0 ? 'QUOTA_MONTHLY_EXCEEDED' : 'QUOTA_DAILY_EXCEEDED';
  }

  minuteLimit(): number {
    return this.#limit(this.#grant.minuteLimit);
  }

  /** Units are used at the time of admission, and released for that time. */
  use(at: number, units: number): void {
    this.#uses.push({ at, units });
  }

  #monthLeft(at: number): number {
    return this.#limit(this.#grant.monthlyLimit) - this.used(at).month;
  }

  #limit(limit: number | null | undefined): number {
    return limit ? limit * (this.#grant.quantity ?? 1) : Number.POSITIVE_INFINITY;
  }
}

class Pack {
  readonly kind = 'pack';
  readonly wallet;
  readonly window: OffPeakWindow | undefined;
  readonly rate: number;
  readonly validFrom: number;
  readonly validUntil: number;
  left: number;

  constructor({ wallet = 'general', units, rate = Infinity, window, validFrom, validUntil }: PackGrant) {
    this.wallet = wallet;
    this.window = window;
    this.rate = rate;
    this.left = units;
    this.validFrom = validFrom?.getTime() ?? Number.NEGATIVE_INFINITY;
    this.validUntil = validUntil?.getTime() ?? Number.POSITIVE_INFINITY;
  }

  isValid(at: number): boolean {
    return at >= this.validFrom && at < this.validUntil;
  }
}

export function billingModel(
  grants: {
    subscriptions: readonly SubscriptionGrant[];
    /** In the order of their ends. */
    packs: readonly PackGrant[];
  },
  offPeak: OffPeakWindow = OFF_PEAK,
): BillingModel {
  const subscriptions = grants.subscriptions.map((grant) => new Subscription(grant));
  const packs = grants.packs.map((grant) => new Pack(grant));
  const open = new Map<string, Draw[]>();
  /** Minutes in which calls were taken, one entry a call: by subscription, and for all packs together. */
  const minutes = new Map<Subscription | 'packs', number[]>();
  const bucketOf = (source: Subscription | Pack) => (source instanceof Pack ? 'packs' : source);

  function callsLeft(source: Subscription | Pack, at: number): number {
    const minute = Math.floor(at / MINUTE_MS);
    const used = (minutes.get(bucketOf(source)) ?? []).filter((taken) => taken === minute).length;
    const rates = packs.filter((pack) => pack.left > 0 && pack.isValid(at)).map(({ rate }) => rate);
    return (source instanceof Pack ? Math.max(0, ...rates) : source.minuteLimit()) - used;
  }

  /** Off-peak before general, subscriptions before packs. */
  function drawingOrder(at: number): (Subscription | Pack)[] {
    const open = [...subscriptions, ...packs].filter(
      (source) =>
        source.isValid(at) && (source.wallet === 'general' || isInWindow(at, source.window ?? offPeak)),
    );
    const of = (wanted: Wallet) => open.filter(({ wallet }) => wallet === wanted);
    return [...of('off_peak'), ...of('general')];
  }

  const unitsLeft = (source: Subscription | Pack, at: number) =>
    source instanceof Pack ? source.left : source.left(at);

  function refusal(order: readonly (Subscription | Pack)[], units: number, at: number): Verdict {
    const refuse = (reason: ErrorKind, remaining: number) =>
      ({ admitted: false, reason, remaining }) as const;
    const first = order.find((source) => source instanceof Subscription);
    const total = order.reduce((sum, source) => sum + unitsLeft(source, at), 0);
    if (!first && total === 0) {
      const offPeakOnly =
        subscriptions.some((own) => own.wallet === 'off_peak' && own.isValid(at)) ||
        packs.some((pack) => pack.wallet === 'off_peak' && pack.left > 0 && pack.isValid(at));
      const hasPack = packs.some((pack) => pack.isValid(at));
      if (offPeakOnly) return refuse('QUOTA_OFF_PEAK_ONLY', 0);
      return refuse(hasPack ? 'QUOTA_PACK_EXHAUSTED' : 'QUOTA_NO_SUBSCRIPTION', 0);
    }
    if (total >= units) return refuse('QUOTA_MINUTE_EXCEEDED', 0);
    if (total > 0) return refuse('QUOTA_INSUFFICIENT_UNITS', total);
    return refuse(first?.whyEmpty(at) ?? 'QUOTA_PACK_EXHAUSTED', 0);
  }

  return {
    meters: (at) => ({
      subscriptions: subscriptions.map((subscription) => subscription.used(at)),
      packs: packs.map(({ left }) => ({ left })),
    }),

    admit(callId, units, at) {
      const order = drawingOrder(at);
      const draws: Draw[] = [];
      let needed = units;
      for (const source of order) {
        const taken = Math.min(needed, unitsLeft(source, at));
        if (taken <= 0 || callsLeft(source, at) <= 0) continue;
        draws.push({ source, units: taken, at });
        needed -= taken;
      }
      if (needed > 0) return refusal(order, units, at);
      for (const bucket of new Set(draws.map(({ source }) => bucketOf(source)))) {
        minutes.set(bucket, [...(minutes.get(bucket) ?? []), Math.floor(at / MINUTE_MS)]);
      }
      for (const { source, units: taken } of draws) {
        if (source instanceof Pack) source.left -= taken;
        else source.use(at, taken);
      }
      open.set(callId, draws);
      const { wallet, kind } = draws[0]?.source ?? { wallet: 'general', kind: 'subscription' };
      return { admitted: true, wallet, source: kind };
    },

    end(callId, units) {
      let keep = units;
      let charged = 0;
      const left: Draw[] = [];
      for (const { source, units: drawn, at: drawnAt } of open.get(callId) ?? []) {
        const kept = Math.min(keep, drawn);
        keep -= kept;
        charged += kept;
        if (source instanceof Pack) source.left += drawn - kept;
        else source.use(drawnAt, kept - drawn);
        left.push({ source, units: kept, at: drawnAt });
      }
      open.set(callId, left);
      return charged;
    },
  };
}
