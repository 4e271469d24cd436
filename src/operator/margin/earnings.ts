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
 * amounts are differences of what was earned in all until two times, so that they always add up to the price.
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
  const values = (net: bigint, at: number) =>
    windows.map((window, i) => earnedBy(grant, window, i, { net, at }));
  move(windows, bySteps.get(-1) ?? [], ['used', 'revoked']);
  let net = netAt(grant, first);
  let value = values(net, first);
  const before = standingAt(grant, first, value);
  const earnings: Earning[] = [];
  for (let step = 0; step + 1 < boundaries.length; step += 1) {
    const [from = 0, to = 0] = boundaries.slice(step, step + 2);
    const moved = bySteps.get(step) ?? [];
    const isTimed = grant.units === null || windows.some(({ endAt }) => endAt > from && endAt <= to);
    if (moved.length === 0 && !isTimed && netAt(grant, to) === net) continue;
    net = netAt(grant, to);
    // Refunds come first, then use, then ends.
    move(windows, moved, ['revoked']);
    const refunded = values(net, from);
    move(windows, moved, ['used']);
    const used = values(net, grant.units === null ? to : from);
    const ended = values(net, to);
    let rest = 0n;
    for (const i of windows.keys()) {
      const [a = 0n, b = 0n, c = 0n, d = 0n] = [value[i], refunded[i], used[i], ended[i]];
      const parts = moved.filter(({ kind, window }) => kind === 'used' && indexOf(windows, window) === i);
      const shares = divide(c - b, parts);
      for (const [part, nanos] of shares) if (nanos !== 0n) earnings.push({ step, part, nanos });
      rest += b - a + d - c + (shares.size === 0 ? c - b : 0n);
    }
    if (rest !== 0n) earnings.push({ step, part: null, nanos: rest });
    value = ended;
  }
  return { earnings, before, after: standingAt(grant, boundaries.at(-1) ?? 0, value) };
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

function move(windows: Window[], moves: readonly UnitMove[], kinds: readonly UnitMove['kind'][]): void {
  for (const { window, kind, units } of moves) {
    const moved = windows[indexOf(windows, window)];
    if (moved && kinds.includes(kind)) moved[kind] += units;
  }
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
  const price = (net * BigInt(index + 1)) / BigInt(windows) - (net * BigInt(index)) / BigInt(windows);
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
