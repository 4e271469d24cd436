import { z } from 'zod';
import { columnsFrom } from '../../operations/tables/columns.ts';
import { addDays } from '../../platform/calendar.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { divide, floorCents, NANOS_A_CENT, toCents } from './earnings.ts';

export const MARGIN_GROUPS = {
  day: 'Day',
  customer: 'Customer',
  plan: 'Plan or pack',
  key: 'Key',
  operation: 'Operation',
} as const;

export type MarginGroup = keyof typeof MARGIN_GROUPS;

export const MOST_DAYS = 366;

const date = z.iso.date('must be a date such as 2027-05-01');
const group = z.enum(
  Object.keys(MARGIN_GROUPS) as [MarginGroup, ...MarginGroup[]],
  `must be one of ${Object.keys(MARGIN_GROUPS).join(', ')}`,
);

/** Days, the last one included, and how they are grouped. */
export interface MarginQuery {
  from: string;
  to: string;
  by: MarginGroup;
}

/** Returns the fields of a query. Default: the last 30 days by day. */
export function marginFields(now: number) {
  const today = new Date(now).toISOString().slice(0, 10);
  const empty = (value: unknown) => (value === '' ? undefined : value);
  return z
    .object({
      from: z.preprocess(empty, date.optional()),
      to: z.preprocess(empty, date.default(today)),
      by: z.preprocess(empty, group.default('day')),
    })
    .transform(({ from, to, by }): MarginQuery => ({ from: from ?? addDays(to, -29), to, by }))
    .refine(({ from }) => from <= today, { path: ['from'], error: `must not be after today, ${today}` })
    .refine(({ from, to }) => from <= to, { path: ['to'], error: 'must not be before from' })
    .refine(({ from, to }) => daysBetween(from, to) < MOST_DAYS, {
      path: ['from'],
      error: `must be at most ${MOST_DAYS} days before to`,
    });
}

export function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS;
}

/** Units that were sold. `part` is the group; the others are set if tokens are divided by them. */
export interface SoldUnits {
  part: string;
  accountId: number | null;
  operation: string | null;
  units: number;
}

/** Tokens in thousandths. `part` is null if they are divided by the units of their account and operation. */
export interface TokenUse {
  part: string | null;
  accountId: number | null;
  operation: string | null;
  spent: number;
  cached: number;
  merged: number;
  joined: number;
}

/** What was earned in the days and in all before them, in billionths of the currency. */
export interface Revenue {
  /** `part` is null for what was not earned by use, if the group does not know it. */
  earned: ReadonlyMap<string | null, { nanos: bigint; unused: bigint }>;
  earnedBefore: bigint;
  paidCents: number;
  refundedCents: number;
  /** Paid and not refunded before the days. */
  heldBeforeCents: number;
}

export interface MarginRow {
  /** The day, the number of the account or key, the operation, or `plan CODE` and `pack CODE`. */
  group: string;
  name: string;
  units: number;
  revenueCents: number;
  /** The part of the revenue that use has not earned: what ended unused, less refunds. */
  unusedCents: number;
  tokens: number;
  costCents: number;
  tokensSavedByCache: number;
  tokensSavedByMerging: number;
  tokensSavedByJoining: number;
  savedCents: number;
  marginCents: number;
}

export type MarginTotals = Omit<MarginRow, 'group' | 'name'> & {
  paidCents: number;
  refundedCents: number;
  /** Paid, not refunded and not earned yet, before the days and at their end. */
  deferredBeforeCents: number;
  deferredCents: number;
};

/** The group of what has none. */
export const WITHOUT_GROUP = 'none';

type Kind = 'spent' | 'cached' | 'merged' | 'joined';
const KINDS: readonly Kind[] = ['spent', 'cached', 'merged', 'joined'];

type Tokens = Record<Kind, bigint>;

/**
 * Joins units, revenue and tokens by group. All amounts of rows add up to the totals: each is the difference of two rounded sums.
 * @param tokenPrice of one token in the currency; null: tokens cost nothing.
 */
export function marginOf(
  sold: readonly SoldUnits[],
  revenue: Revenue,
  used: readonly TokenUse[],
  tokenPrice: number | null,
): { rows: Omit<MarginRow, 'name'>[]; totals: MarginTotals } {
  const tokens = tokensByPart(sold, used);
  const keyOf = (part: string | null) => part || WITHOUT_GROUP;
  const units = new Map<string, number>();
  for (const one of sold) units.set(keyOf(one.part), (units.get(keyOf(one.part)) ?? 0) + one.units);
  const earned = new Map<string, { nanos: bigint; unused: bigint }>();
  for (const [part, { nanos, unused }] of revenue.earned) {
    const sum = earned.get(keyOf(part)) ?? { nanos: 0n, unused: 0n };
    earned.set(keyOf(part), { nanos: sum.nanos + nanos, unused: sum.unused + unused });
  }
  const groups = [...new Set([...units.keys(), ...earned.keys(), ...tokens.keys()])].sort();
  const price = BigInt(Math.round((tokenPrice ?? 0) * 1e9));
  const tokensOf = (one: string, kind: Kind) => tokens.get(one)?.[kind] ?? 0n;
  const nanosOf = (one: string, kinds: readonly Kind[]) =>
    (kinds.reduce((sum, kind) => sum + tokensOf(one, kind), 0n) * price) / 1000n;
  const cents = {
    revenue: toCents(
      groups.map((one) => earned.get(one)?.nanos ?? 0n),
      revenue.earnedBefore,
    ),
    unused: toCents(
      groups.map((one) => earned.get(one)?.unused ?? 0n),
      HALF_A_CENT,
    ),
    cost: toCents(
      groups.map((one) => nanosOf(one, ['spent'])),
      HALF_A_CENT,
    ),
    saved: toCents(
      groups.map((one) => nanosOf(one, ['cached', 'merged', 'joined'])),
      HALF_A_CENT,
    ),
  };
  const rows = groups.map((one, i) => ({
    group: one,
    units: units.get(one) ?? 0,
    revenueCents: cents.revenue[i] ?? 0,
    unusedCents: cents.unused[i] ?? 0,
    tokens: Number(tokensOf(one, 'spent')) / 1000,
    costCents: cents.cost[i] ?? 0,
    tokensSavedByCache: Number(tokensOf(one, 'cached')) / 1000,
    tokensSavedByMerging: Number(tokensOf(one, 'merged')) / 1000,
    tokensSavedByJoining: Number(tokensOf(one, 'joined')) / 1000,
    savedCents: cents.saved[i] ?? 0,
    marginCents: (cents.revenue[i] ?? 0) - (cents.cost[i] ?? 0),
  }));
  return { rows, totals: totalsOf(rows, revenue) };
}

const HALF_A_CENT = NANOS_A_CENT / 2n;

function totalsOf(rows: readonly Omit<MarginRow, 'name'>[], revenue: Revenue): MarginTotals {
  const sum = (field: Exclude<keyof MarginRow, 'group' | 'name'>) =>
    Math.round(rows.reduce((total, row) => total + row[field], 0) * 1000) / 1000;
  const { paidCents, refundedCents } = revenue;
  const revenueCents = sum('revenueCents');
  const deferredBeforeCents = revenue.heldBeforeCents - floorCents(revenue.earnedBefore);
  return {
    units: sum('units'),
    revenueCents,
    unusedCents: sum('unusedCents'),
    tokens: sum('tokens'),
    costCents: sum('costCents'),
    tokensSavedByCache: sum('tokensSavedByCache'),
    tokensSavedByMerging: sum('tokensSavedByMerging'),
    tokensSavedByJoining: sum('tokensSavedByJoining'),
    savedCents: sum('savedCents'),
    marginCents: sum('marginCents'),
    paidCents,
    refundedCents,
    deferredBeforeCents,
    deferredCents: deferredBeforeCents + paidCents - refundedCents - revenueCents,
  };
}

/**
 * Tokens whose group is not known go to the groups in proportion to the units of their account and operation. A group whose refunds
 * exceed its use has used no tokens.
 */
function tokensByPart(sold: readonly SoldUnits[], used: readonly TokenUse[]): Map<string, Tokens> {
  const cellOf = (one: SoldUnits | TokenUse) => `${one.accountId} ${one.operation}`;
  const cells = Map.groupBy(
    sold.map((one) => ({ ...one, units: Math.max(0, one.units) })),
    cellOf,
  );
  const tokens = new Map<string, Tokens>();
  const add = (part: string, kind: Kind, count: bigint) => {
    const sum = tokens.get(part || WITHOUT_GROUP) ?? { spent: 0n, cached: 0n, merged: 0n, joined: 0n };
    tokens.set(part || WITHOUT_GROUP, { ...sum, [kind]: sum[kind] + count });
  };
  for (const use of used) {
    const weights = use.part === null ? (cells.get(cellOf(use)) ?? []) : [{ part: use.part, units: 1 }];
    for (const kind of KINDS) {
      if (use[kind] === 0) continue;
      const shares = divide(BigInt(use[kind]), weights);
      if (shares.size === 0) add(WITHOUT_GROUP, kind, BigInt(use[kind]));
      for (const [part, count] of shares) add(part, kind, count);
    }
  }
  return tokens;
}

/** The columns of a file. Amounts are in hundredths of the currency. */
export const MARGIN_COLUMNS = columnsFrom({
  group: [
    'text',
    'The day, the number of the account or key, the operation, or the code of the plan or pack',
  ],
  name: ['text', 'Its name'],
  units: ['integer', 'Units sold: charged, less refunded to wallets'],
  revenueCents: ['integer', 'Revenue earned, in cents'],
  unusedCents: [
    'integer',
    'The part of the revenue that use has not earned: what ended unused, less refunds of payments',
  ],
  tokens: ['number', 'Tokens of the data provider'],
  costCents: ['integer', 'Tokens times UPSTREAM_TOKEN_PRICE, in cents'],
  tokensSavedByCache: ['number', 'Tokens that cached data would have cost'],
  tokensSavedByMerging: ['number', 'Tokens that data would have cost which another call was fetching'],
  tokensSavedByJoining: [
    'number',
    'Tokens that calls would have cost which joined an identical one, by the mean of their operation',
  ],
  savedCents: ['integer', 'Saved tokens times UPSTREAM_TOKEN_PRICE, in cents'],
  marginCents: ['integer', 'Revenue less cost, in cents'],
});
