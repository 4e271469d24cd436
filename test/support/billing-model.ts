import type { ErrorKind } from '../../src/errors.ts';
import type { PackGrant, SubscriptionGrant } from './billing.ts';

/**
 * What the rules of billing say, in a few lines of plain code and without a database: the opinion that the real thing
 * is held against. Off-peak is 11:00 to 23:00 UTC; months are calendar months (its subscriptions start on a 1st).
 */
export interface BillingModel {
  admit(callId: string, units: number, at: number): Verdict;
  /** Ends a call; charges at most `units` and gives back the rest. */
  end(callId: string, units: number): number;
  /** Units used in the present day and month of each subscription, and left in each pack. */
  meters(at: number): { subscriptions: { day: number; month: number }[]; packs: { left: number }[] };
}

export type Verdict = { admitted: true } | { admitted: false; reason: ErrorKind; remaining: number };

interface Draw {
  source: Subscription | Pack;
  units: number;
  at: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const monthOf = (at: number) => new Date(at).toISOString().slice(0, 7);
const isOffPeak = (at: number) => at % DAY_MS >= 11 * 3_600_000 && at % DAY_MS < 23 * 3_600_000;

const limitOf = (limit: number | null | undefined) => limit ?? Number.POSITIVE_INFINITY;

class Subscription {
  readonly wallet;
  readonly #grant: SubscriptionGrant;
  readonly #uses: { at: number; units: number }[] = [];

  constructor(grant: SubscriptionGrant) {
    this.#grant = grant;
    this.wallet = grant.wallet ?? 'general';
  }

  used(at: number): { day: number; month: number } {
    const sum = (counts: (use: number) => boolean) =>
      this.#uses.filter((use) => counts(use.at)).reduce((total, { units }) => total + units, 0);
    return {
      day: sum((use) => Math.floor(use / DAY_MS) === Math.floor(at / DAY_MS)),
      month: sum((use) => monthOf(use) === monthOf(at)),
    };
  }

  left(at: number): number {
    return Math.min(limitOf(this.#grant.dailyLimit) - this.used(at).day, this.#monthLeft(at));
  }

  whyEmpty(at: number): ErrorKind {
    return this.#monthLeft(at) <= 0 ? 'QUOTA_MONTHLY_EXCEEDED' : 'QUOTA_DAILY_EXCEEDED';
  }

  minuteLimit(): number {
    return limitOf(this.#grant.minuteLimit);
  }

  /** Units are used at the moment of admission, and given back to that moment. */
  use(at: number, units: number): void {
    this.#uses.push({ at, units });
  }

  #monthLeft(at: number): number {
    return limitOf(this.#grant.monthlyLimit) - this.used(at).month;
  }
}

class Pack {
  readonly wallet;
  readonly rate: number;
  left: number;

  constructor({ wallet = 'general', units, rate = Number.POSITIVE_INFINITY }: PackGrant) {
    this.wallet = wallet;
    this.rate = rate;
    this.left = units;
  }
}

export function billingModel(grants: {
  subscriptions: readonly SubscriptionGrant[];
  /** In the order of their ends. */
  packs: readonly PackGrant[];
}): BillingModel {
  const subscriptions = grants.subscriptions.map((grant) => new Subscription(grant));
  const packs = grants.packs.map((grant) => new Pack(grant));
  const open = new Map<string, Draw[]>();
  /** Minutes in which calls were taken, one entry a call: by subscription, and for all packs together. */
  const minutes = new Map<Subscription | 'packs', number[]>();
  const bucketOf = (source: Subscription | Pack) => (source instanceof Pack ? 'packs' : source);

  function callsLeft(source: Subscription | Pack, at: number): number {
    const minute = Math.floor(at / MINUTE_MS);
    const used = (minutes.get(bucketOf(source)) ?? []).filter((taken) => taken === minute).length;
    const rates = packs.filter(({ left }) => left > 0).map(({ rate }) => rate);
    return (source instanceof Pack ? Math.max(0, ...rates) : source.minuteLimit()) - used;
  }

  /** Off-peak before general, subscriptions before packs. */
  function drawingOrder(at: number): (Subscription | Pack)[] {
    const all = [...subscriptions, ...packs];
    const general = all.filter(({ wallet }) => wallet === 'general');
    return isOffPeak(at) ? [...all.filter(({ wallet }) => wallet === 'off_peak'), ...general] : general;
  }

  const unitsLeft = (source: Subscription | Pack, at: number) =>
    source instanceof Pack ? source.left : source.left(at);

  function refusal(order: readonly (Subscription | Pack)[], units: number, at: number): Verdict {
    const refuse = (reason: ErrorKind, remaining: number) =>
      ({ admitted: false, reason, remaining }) as const;
    const [first] = order;
    if (!first) {
      const offPeakOnly =
        subscriptions.some(({ wallet }) => wallet === 'off_peak') ||
        packs.some(({ wallet, left }) => wallet === 'off_peak' && left > 0);
      return refuse(offPeakOnly ? 'QUOTA_OFF_PEAK_ONLY' : 'QUOTA_NO_SUBSCRIPTION', 0);
    }
    const total = order.reduce((sum, source) => sum + unitsLeft(source, at), 0);
    if (total >= units) return refuse('QUOTA_MINUTE_EXCEEDED', 0);
    if (total > 0) return refuse('QUOTA_INSUFFICIENT_UNITS', total);
    return refuse(first instanceof Pack ? 'QUOTA_PACK_EXHAUSTED' : first.whyEmpty(at), 0);
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
      return { admitted: true };
    },

    end(callId, units) {
      let keep = units;
      let charged = 0;
      for (const { source, units: drawn, at: drawnAt } of open.get(callId) ?? []) {
        const kept = Math.min(keep, drawn);
        keep -= kept;
        charged += kept;
        if (source instanceof Pack) source.left += drawn - kept;
        else source.use(drawnAt, kept - drawn);
      }
      open.delete(callId);
      return charged;
    },
  };
}
