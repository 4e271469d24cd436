import type { Granted, GrantedPack, GrantedSubscription } from './history.ts';

const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

/** What was used of a window, which has a start. A window that is open is never opened again. */
export interface Meter {
  start: number;
  used: number;
}

/** A subscription or pack, with what calls have taken. */
export type Source =
  | { type: 'subscription'; granted: GrantedSubscription; minute: Meter; day: Meter; month: number }
  | { type: 'pack'; granted: GrantedPack; left: number };

export function count(meter: Meter, at: number, lengthMs: number, amount: number): number {
  const start = Math.floor(at / lengthMs) * lengthMs;
  if (start > meter.start) Object.assign(meter, { start, used: 0 });
  meter.used += amount;
  return meter.used;
}

/** The sources of an account, in the order in which calls draw on them, with the limits that the account was promised. */
export class Sources {
  readonly all: readonly Source[];
  readonly #isOffPeak: (at: number) => boolean;
  /** Packs share the calls of a minute. */
  readonly #packMinute: Meter = { start: 0, used: 0 };

  constructor({ subscriptions, packs, window }: Granted) {
    this.#isOffPeak = hoursOf(window);
    const byEnd = [...packs].sort((a, b) => a.validUntil - b.validUntil || a.id - b.id);
    this.all = (['off_peak', 'general'] as const).flatMap((wallet) => [
      ...subscriptions.filter((granted) => granted.wallet === wallet).map(subscriptionSource),
      ...byEnd.filter((granted) => granted.wallet === wallet).map(packSource),
    ]);
  }

  find(type: Source['type'], id: number): Source | undefined {
    return this.all.find((source) => source.type === type && source.granted.id === id);
  }

  isOpen(source: Source, at: number): boolean {
    return source.granted.wallet === 'general' || this.#isOffPeak(at);
  }

  minuteLeft(source: Source, at: number): number {
    if (source.type === 'subscription')
      return (
        (source.granted.minuteLimit ?? Number.POSITIVE_INFINITY) - count(source.minute, at, MINUTE_MS, 0)
      );
    const rates = this.all.flatMap((pack) =>
      pack.type === 'pack' && isValid(pack, at) && pack.left > 0 ? [pack.granted.rate] : [],
    );
    return Math.max(0, ...rates) - count(this.#packMinute, at, MINUTE_MS, 0);
  }

  /** The draws that the promised order gives. */
  promised(units: number, at: number): [Source, number][] {
    const draws: [Source, number][] = [];
    let need = units;
    for (const source of this.all) {
      if (!this.isOpen(source, at) || !isValid(source, at)) continue;
      const take = Math.min(need, availableOf(source, at));
      if (take === 0 || this.minuteLeft(source, at) <= 0) continue;
      need -= take;
      draws.push([source, take]);
    }
    return draws;
  }

  /** Takes the units of a call. */
  take(draws: readonly (readonly [Source, number])[], at: number): void {
    for (const [source, units] of draws) {
      if (source.type === 'pack') source.left -= units;
      else {
        count(source.minute, at, MINUTE_MS, 1);
        count(source.day, at, DAY_MS, units);
        source.month += units;
      }
    }
    if (draws.some(([{ type }]) => type === 'pack')) count(this.#packMinute, at, MINUTE_MS, 1);
  }
}

export function isValid(source: Source, at: number): boolean {
  return source.type === 'subscription' || source.granted.validUntil > at;
}

export function availableOf(source: Source, at: number): number {
  if (source.type === 'pack') return source.left;
  const { dailyLimit, monthlyLimit } = source.granted;
  const day = dailyLimit === null ? Number.POSITIVE_INFINITY : dailyLimit - count(source.day, at, DAY_MS, 0);
  const month = monthlyLimit === null ? Number.POSITIVE_INFINITY : monthlyLimit - source.month;
  return Math.max(0, Math.min(day, month));
}

const subscriptionSource = (granted: GrantedSubscription): Source => ({
  ...{ type: 'subscription', granted, month: 0 },
  ...{ minute: { start: 0, used: 0 }, day: { start: 0, used: 0 } },
});

const packSource = (granted: GrantedPack): Source => ({ type: 'pack', granted, left: 0 });

/** Returns whether a time is in daily hours of a time zone, which may cross midnight. */
function hoursOf({ start, end, timezone }: Granted['window']): (at: number) => boolean {
  const clock = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  const known = new Map<number, boolean>();
  return (at) => {
    const minute = Math.floor(at / MINUTE_MS);
    const before = known.get(minute);
    if (before !== undefined) return before;
    const local = clock.format(at);
    const isIn = start < end ? local >= start && local < end : local >= start || local < end;
    known.set(minute, isIn);
    return isIn;
  };
}
