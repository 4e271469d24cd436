import { bisectLeft, bisectRight } from 'd3-array';
import { monthsAfter } from '../../platform/calendar.ts';

/** Money is counted in billionths of the currency, so that shares of a cent are exact. */
export const NANOS_A_CENT = 10_000_000n;

/** A pack or subscription and what was paid for it. Times are Unix milliseconds. */
export interface PaidGrant {
  amountCents: number;
  paidAt: number;
  /** What refunds and disputes took back; negative: what a won dispute gave back. */
  reversals: readonly { at: number; cents: number }[];
  /** Monthly windows of a subscription; 1 for a pack. */
  windows: number;
  /** Units of a pack, or of a window; null: unlimited. */
  units: number | null;
  startsAt: number;
  endsAt: number;
}

/** Units that left a window of a grant. Refunded and restored units are negative. */
export interface UnitMove {
  window: number;
  kind: 'used' | 'revoked';
  /** Between which two boundaries, from 0; -1: before the first one. */
  step: number;
  /** For what, such as the number of a key. */
  part: string;
  units: number;
}

/** An amount that was earned between two boundaries. `part` is null if it was not earned by use. */
export interface Earning {
  step: number;
  part: string | null;
  nanos: bigint;
}

/** A payment at a boundary. */
interface Standing {
  paidCents: number;
  refundedCents: number;
  /** Billionths of the currency. */
  earned: bigint;
}

interface Earned {
  earnings: Earning[];
  /** At the first and the last boundary. */
  before: Standing;
  after: Standing;
}

/** A window of a grant, with the units of it that were used and taken back so far. */
interface Window {
  from: number;
  /** The start of the next window. */
  nextAt: number;
  endAt: number;
  used: number;
  revoked: number;
}

/**
 * Returns what a payment has earned between each two boundaries. Until its end, a window has earned its part of the price times the
 * units that were used, divided by its units; at its end the rest is earned. A window without a limit earns evenly over time. All
 * amounts are differences of what was earned in all until two times, so that they always add up to the price. Steps in which nothing
 * happens, and windows to which nothing happens, are left out, because a year has many.
 * @param boundaries Unix milliseconds, ascending, at least two.
 */
export function earningsOf(
  grant: PaidGrant,
  moves: readonly UnitMove[],
  boundaries: readonly number[],
): Earned {
  const first = boundaries[0] ?? 0;
  const windows = windowsOf(grant);
  const bySteps = Map.groupBy(moves, ({ step }) => step);
  for (const one of bySteps.get(-1) ?? []) move(windows, one);
  let net = netAt(grant, first);
  const values = windows.map((window, i) => earnedBy(grant, window, i, { net, at: first }));
  const before = standingAt(grant, first, values);
  const earnings: Earning[] = [];
  for (const step of stepsOf(grant, windows, bySteps.keys(), boundaries)) {
    const times = { from: boundaries[step] ?? 0, to: boundaries[step + 1] ?? 0 };
    const netNow = netAt(grant, times.to);
    const byWindow = Map.groupBy(bySteps.get(step) ?? [], ({ window }) => indexOf(windows, window));
    let rest = 0n;
    for (const [i, window] of windows.entries()) {
      const moved = byWindow.get(i) ?? [];
      const changes = { isNewPrice: netNow !== net, isTimed: isTimed(grant, window, times) };
      if (moved.length === 0 && !changes.isNewPrice && !changes.isTimed) continue;
      const state = { ...times, ...changes, net: netNow, moved, value: values[i] ?? 0n };
      const { value, shares, other } = earnedIn(grant, window, i, state);
      for (const [part, nanos] of shares) if (nanos !== 0n) earnings.push({ step, part, nanos });
      rest += other;
      values[i] = value;
    }
    if (rest !== 0n) earnings.push({ step, part: null, nanos: rest });
    net = netNow;
  }
  return { earnings, before, after: standingAt(grant, boundaries.at(-1) ?? 0, values) };
}

/** A window between two times. */
interface WindowStep {
  from: number;
  to: number;
  net: bigint;
  isNewPrice: boolean;
  isTimed: boolean;
  moved: readonly UnitMove[];
  /** What it has earned until `from`. */
  value: bigint;
}

/** Returns what a window earns between two times: by use, by part, and otherwise. Refunds come first, then use, then its end. */
function earnedIn(
  grant: PaidGrant,
  window: Window,
  index: number,
  { from, to, net, isNewPrice, isTimed, moved, value }: WindowStep,
): { value: bigint; shares: Map<string, bigint>; other: bigint } {
  const at = (time: number) => earnedBy(grant, window, index, { net, at: time });
  const used = moved.filter(({ kind }) => kind === 'used');
  for (const one of moved) if (one.kind === 'revoked') window.revoked += one.units;
  const refunded = isNewPrice || used.length < moved.length ? at(from) : value;
  for (const one of used) window.used += one.units;
  const afterUse = at(grant.units === null ? to : from);
  const ended = isTimed ? at(to) : afterUse;
  const shares = divide(afterUse - refunded, used);
  const other = refunded - value + ended - afterUse + (shares.size === 0 ? afterUse - refunded : 0n);
  return { value: ended, shares, other };
}

/** Whether time alone changes what a window has earned: it ends, or it has no limit. */
function isTimed(
  { units }: PaidGrant,
  { from, endAt }: Window,
  times: { from: number; to: number },
): boolean {
  return endAt > times.from && (endAt <= times.to || (units === null && from < times.to));
}

/** Returns the steps in which something may be earned, ascending. */
function stepsOf(
  grant: PaidGrant,
  windows: readonly Window[],
  moved: Iterable<number>,
  boundaries: readonly number[],
): number[] {
  const steps = new Set(moved);
  // A payment counts after its instant, like use and refunds; a window is over at its end.
  steps.add(bisectRight(boundaries, grant.paidAt) - 1);
  for (const { at } of grant.reversals) steps.add(bisectRight(boundaries, at) - 1);
  for (const { endAt } of windows) steps.add(bisectLeft(boundaries, endAt) - 1);
  if (grant.units === null) {
    const last = bisectLeft(boundaries, grant.endsAt) - 1;
    for (let step = bisectRight(boundaries, grant.startsAt) - 1; step <= last; step += 1) steps.add(step);
  }
  return [...steps].filter((step) => step >= 0 && step < boundaries.length - 1).sort((a, b) => a - b);
}

function windowsOf({ windows, startsAt, endsAt }: PaidGrant): Window[] {
  const startOf = (i: number) => monthsAfter(new Date(startsAt), i).getTime();
  return Array.from({ length: windows }, (_, i) => {
    const nextAt = startOf(i + 1);
    const endAt = i === windows - 1 ? endsAt : Math.min(nextAt, endsAt);
    return { from: startOf(i), nextAt, endAt, used: 0, revoked: 0 };
  });
}

const indexOf = (windows: readonly Window[], window: number) => Math.min(window, windows.length - 1);

function move(windows: readonly Window[], { window, kind, units }: UnitMove): void {
  const moved = windows[indexOf(windows, window)];
  if (moved) moved[kind] += units;
}

function netAt(grant: PaidGrant, at: number): bigint {
  if (at <= grant.paidAt) return 0n;
  return BigInt(grant.amountCents - refundedCents(grant, at)) * NANOS_A_CENT;
}

function refundedCents({ reversals }: PaidGrant, at: number): number {
  return reversals.reduce((sum, one) => (one.at < at ? sum + one.cents : sum), 0);
}

function standingAt(grant: PaidGrant, at: number, values: readonly bigint[]): Standing {
  const isPaid = at > grant.paidAt;
  return {
    paidCents: isPaid ? grant.amountCents : 0,
    refundedCents: isPaid ? refundedCents(grant, at) : 0,
    earned: values.reduce((sum, value) => sum + value, 0n),
  };
}

/** Returns what a window has earned until a time. */
function earnedBy(
  { windows, units }: PaidGrant,
  { from, nextAt, endAt, used, revoked }: Window,
  index: number,
  { net, at }: { net: bigint; at: number },
): bigint {
  const price =
    windows === 1
      ? net
      : (net * BigInt(index + 1)) / BigInt(windows) - (net * BigInt(index)) / BigInt(windows);
  if (at >= endAt) return price;
  if (units === null) return shareOf(price, at - from, nextAt - from);
  return shareOf(price, used, units - revoked);
}

/** Returns a share of an amount, rounded down, from nothing to all of it. All of it if there is nothing left to earn. */
function shareOf(amount: bigint, share: number, whole: number): bigint {
  if (share >= whole) return amount;
  return share <= 0 ? 0n : (amount * BigInt(share)) / BigInt(whole);
}

/**
 * Divides an amount in proportion to units, as differences of the rounded shares of their sums, so that the parts add up to it.
 * @returns nothing if the units add up to zero.
 */
export function divide(
  amount: bigint,
  weights: readonly { part: string; units: number }[],
): Map<string, bigint> {
  const whole = weights.reduce((sum, { units }) => sum + units, 0);
  const [only] = weights;
  if (only && weights.length === 1) return new Map(whole === 0 ? [] : [[only.part, amount]]);
  const shares = new Map<string, bigint>();
  if (whole === 0) return shares;
  let units = 0;
  let given = 0n;
  for (const one of weights.toSorted((a, b) => (a.part < b.part ? -1 : 1))) {
    units += one.units;
    const until = (amount * BigInt(units)) / BigInt(whole);
    shares.set(one.part, (shares.get(one.part) ?? 0n) + until - given);
    given = until;
  }
  return shares;
}

/** Rounds amounts to cents as differences of the rounded sums, so that the cents add up. @param start what was earned before. */
export function toCents(nanos: readonly bigint[], start: bigint): number[] {
  let sum = start;
  return nanos.map((one) => {
    const before = floorCents(sum);
    sum += one;
    return floorCents(sum) - before;
  });
}

export function floorCents(nanos: bigint): number {
  const cents = nanos / NANOS_A_CENT;
  return Number(nanos < 0n && nanos % NANOS_A_CENT !== 0n ? cents - 1n : cents);
}
