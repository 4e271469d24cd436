import type { ClientBase } from 'pg';
import { addDays } from '../../platform/calendar.ts';
import type { Database } from '../../platform/db/pool.ts';
import { unixMs } from '../../platform/db/rows.ts';
import { readSnapshot } from '../report-snapshot.ts';
import { earningsOf, type PaidGrant, type UnitMove } from './earnings.ts';
import {
  daysBetween,
  type MarginGroup,
  type MarginQuery,
  type MarginRow,
  type MarginTotals,
  marginOf,
  type Revenue,
  type SoldUnits,
  type TokenUse,
  WITHOUT_GROUP,
} from './margin.ts';

export interface MarginReport extends MarginQuery {
  /** ISO 4217, lower case. */
  currency: string;
  /** Of one token; null: tokens count without cost. */
  tokenPrice: number | null;
  totals: MarginTotals;
  rows: MarginRow[];
}

export interface MarginSettings {
  currency: string;
  tokenPrice: number | null;
  now: number;
}

/** Returns what was earned and what it cost, by group. All figures are of one snapshot of the database. */
export function readMargin(
  database: Database,
  query: MarginQuery,
  settings: MarginSettings,
): Promise<MarginReport> {
  return readSnapshot(database, (client) => read(client, query, settings));
}

async function read(client: ClientBase, query: MarginQuery, settings: MarginSettings): Promise<MarginReport> {
  const { now, currency, tokenPrice } = settings;
  const today = new Date(now).toISOString().slice(0, 10);
  const to = query.to > today ? today : query.to;
  const days = { ...query, to, until: addDays(to, 1), liveFrom: await liveFrom(client, now) };
  const [units, tokens, revenue] = [
    await soldUnits(client, days),
    await tokenUse(client, days),
    await revenueIn(client, days, settings),
  ];
  // Days without calls are rows, too.
  if (query.by === 'day')
    for (let day = query.from; day <= to; day = addDays(day, 1))
      units.push({ part: day, accountId: null, operation: null, units: 0 });
  const { rows, totals } = marginOf(units, revenue, tokens, tokenPrice);
  const names = await namesOf(
    client,
    query.by,
    rows.map(({ group }) => group),
  );
  return {
    ...query,
    to,
    currency,
    tokenPrice,
    totals,
    rows: rows.map(({ group, ...row }) => ({
      group,
      name: names.get(group) ?? nameOf(query.by, group),
      ...row,
    })),
  };
}

/** The days of a report. `until` is the day after the last one. */
interface Days extends MarginQuery {
  until: string;
  /** Lines of the ledger from this time on are not summed yet. */
  liveFrom: Date;
}

async function liveFrom(client: ClientBase, now: number): Promise<Date> {
  const { rows } = await client.query<{ at: Date }>(
    `select coalesce((select summed_until from unit_sums),
       (select date_trunc('day', min(created_at), 'UTC') from accounts), $1) as at`,
    [new Date(now)],
  );
  return rows[0]?.at ?? new Date(now);
}

/** The columns by which units and tokens are summed, and SQL that names the group of a sum: there are far fewer sums than rows. */
const PARTS: Record<MarginGroup, readonly [columns: string, name: string]> = {
  day: ['day', "to_char(day, 'YYYY-MM-DD')"],
  customer: ['account_id', 'account_id::text'],
  plan: [
    'source, source_id, account_id, operation',
    "case source when 'subscription' then 'plan ' || l.code else 'pack ' || coalesce(o.offer_code, '') end",
  ],
  key: ['key_id, account_id, operation', 'key_id::text'],
  operation: ['operation', 'operation'],
};

/** Whether tokens are counted by the group. Otherwise they are divided by units of their account and operation. */
const hasTokens = (by: MarginGroup) => by !== 'plan' && by !== 'key';

const NO_CELL = 'null::bigint as "accountId", null as operation';
const CELL = 'm.account_id as "accountId", m.operation';

async function soldUnits(client: ClientBase, { from, until, liveFrom, by }: Days): Promise<SoldUnits[]> {
  const [columns, name] = PARTS[by];
  const { rows } = await client.query<SoldUnits>(
    `select ${name} as part, ${hasTokens(by) ? NO_CELL : CELL}, units from (
       select ${columns}, sum(units)::bigint as units
       from (
         select source, source_id, day, operation, key_id, account_id, units from unit_days
         where day >= $1 and day < $2 and kind = 'used'
         union all
         select source, source_id, day, operation, key_id, account_id, units from souk_unit_moves($3, $2::date::timestamp at time zone 'UTC')
         where day >= $1 and kind = 'used'
       ) as units group by ${columns}
     ) as m
     ${
       by === 'plan'
         ? `left join subscriptions s on m.source = 'subscription' and s.id = m.source_id left join plans l on l.id = s.plan_id
            left join orders o on m.source = 'pack' and o.pack_id = m.source_id`
         : ''
     }`,
    [from, until, liveFrom],
  );
  return rows;
}

async function tokenUse(client: ClientBase, { from, until, by }: Days): Promise<TokenUse[]> {
  const [columns, name] = hasTokens(by) ? PARTS[by] : ['account_id, operation', 'null'];
  const { rows } = await client.query<TokenUse>(
    `select ${name} as part, ${hasTokens(by) ? NO_CELL : CELL}, spent, cached, merged, joined from (
       select ${columns}, sum(spent)::bigint as spent, sum(cached)::bigint as cached, sum(merged)::bigint as merged,
         sum(joined * (spent + cached + merged) / greatest(calls, 1))::bigint as joined
       from token_days where day >= $1 and day < $2 group by ${columns}
     ) as m`,
    [from, until],
  );
  return rows;
}

/** A grant with the values that SQL returns. */
interface StoredGrant extends Omit<PaidGrant, 'reversals'> {
  source: 'pack' | 'subscription';
  sourceId: number;
  accountId: number;
  code: string;
  reversals: { at: string; cents: number }[];
}

/** Grants that are read at a time. */
const PAGE = 500;

/** Calls end, and units return, at most this long after their source has. */
const LATE_DAYS = 31;

async function revenueIn(
  client: ClientBase,
  days: Days,
  { currency, now }: MarginSettings,
): Promise<Revenue> {
  const { from, until, by } = days;
  const steps = by === 'day' ? daysBetween(from, until) : 1;
  const starts = Array.from({ length: steps }, (_, i) => addDays(from, i));
  const boundaries = [...starts, until].map((day) => Math.min(now, Date.parse(day)));
  const earned = new Map<string | null, { nanos: bigint; unused: bigint }>();
  const revenue = { earned, earnedBefore: 0n, paidCents: 0, refundedCents: 0, heldBeforeCents: 0 };
  const later = await laterMoves(client, days);
  for await (const grants of paidGrants(client, days, currency)) {
    const moves = await movesOf(client, days, grants);
    for (const [i, grant] of grants.entries()) {
      const own = [...(moves.get(i) ?? []), ...(later.get(`${grant.source} ${grant.sourceId}`) ?? [])];
      const reversals = grant.reversals.map(({ at, cents }) => ({ at: Date.parse(at), cents }));
      const { earnings, before, after } = earningsOf({ ...grant, reversals }, own, boundaries);
      for (const { step, part, nanos } of earnings) {
        const group = groupOf(by, grant, part, starts[step] ?? from);
        const sum = earned.get(group) ?? { nanos: 0n, unused: 0n };
        const unused = part === null ? nanos : 0n;
        earned.set(group, { nanos: sum.nanos + nanos, unused: sum.unused + unused });
      }
      revenue.earnedBefore += before.earned;
      revenue.paidCents += after.paidCents - before.paidCents;
      revenue.refundedCents += after.refundedCents - before.refundedCents;
      revenue.heldBeforeCents += before.paidCents - before.refundedCents;
    }
  }
  return revenue;
}

function groupOf(by: MarginGroup, grant: StoredGrant, part: string | null, day: string): string | null {
  switch (by) {
    case 'day':
      return day;
    case 'customer':
      return String(grant.accountId);
    case 'plan':
      return `${grant.source === 'pack' ? 'pack' : 'plan'} ${grant.code}`;
    default:
      return part;
  }
}

/**
 * Grants of which something may be earned or refunded in the days, some at a time, by one statement. All others have earned what was
 * paid, or nothing.
 */
async function* paidGrants(
  client: ClientBase,
  { from, until }: Days,
  currency: string,
): AsyncGenerator<StoredGrant[]> {
  // Without it, PostgreSQL plans for the first tenth of the rows.
  await client.query('set local cursor_tuple_fraction = 1');
  await client.query(
    `declare grants no scroll cursor for select source, source_id as "sourceId", account_id as "accountId", code,
       amount_cents as "amountCents", ${unixMs('paid_at')} as "paidAt", windows, units, ${unixMs('starts_at')} as "startsAt",
       ${unixMs('ends_at')} as "endsAt", reversals
     from paid_grants
     where currency = $1 and paid_at < $3::date::timestamp at time zone 'UTC'
       and (ends_at > ($2::date - ${LATE_DAYS})::timestamp at time zone 'UTC' or exists (
         select from jsonb_array_elements(reversals) r where (r ->> 'at')::timestamptz >= $2::date::timestamp at time zone 'UTC'))`,
    [currency, from, until],
  );
  for (;;) {
    const { rows } = await client.query<StoredGrant>(`fetch ${PAGE} from grants`);
    if (rows.length > 0) yield rows;
    if (rows.length < PAGE) return;
  }
}

/** SQL of the part of a move. Only use in the days has one. */
const partOf = (by: MarginGroup) =>
  by === 'key' || by === 'operation'
    ? `case when day >= $1::date and kind = 'used' then ${PARTS[by][1]} else '' end`
    : "''";

/** SQL of the step of a move. Days before the first one have negative steps. */
const stepOf = (by: MarginGroup) =>
  by === 'day' ? 'day - $1::date' : 'case when day < $1::date then -1 else 0 end';

/** Units of a window by step: lists of numbers, because a year has too many moves for a row each. */
interface StoredMoves {
  window: number;
  kind: UnitMove['kind'];
  part: string;
  steps: string;
  units: string;
}

/** SQL that sums units by window, and lists the sums. @param from a part of a statement with the columns of unit_days. */
const movesIn = (by: MarginGroup, from: string, more = '') => `
  select ${more} period as window, kind, part, string_agg(step::text, ' ') as steps, string_agg(units::text, ' ') as units from (
    select ${more} period, kind, ${stepOf(by)} as step, ${partOf(by)} as part, sum(units) as units
    ${from} group by ${more} period, ${by === 'day' ? 'day' : 'step'}, kind, part
  ) as sums group by ${more} period, kind, part`;

/** Returns the units of grants that are summed by day, by the index of the grant. */
async function movesOf(
  client: ClientBase,
  { from, until, by }: Days,
  grants: readonly StoredGrant[],
): Promise<Map<number, UnitMove[]>> {
  const { rows } = await client.query<StoredMoves & { nth: number }>(
    // The key of the table has the order in which the rows of a grant are summed.
    `select nth::integer - 1 as nth, m.* from unnest($3::source_kind[], $4::bigint[]) with ordinality as w (source, source_id, nth)
     cross join lateral (${movesIn(by, 'from unit_days u where u.source = w.source and u.source_id = w.source_id and day < $2')}) as m`,
    [from, until, grants.map(({ source }) => source), grants.map(({ sourceId }) => sourceId)],
  );
  return byGroup(rows, ({ nth }) => nth);
}

/** Returns the units that are not summed yet, by grant. */
async function laterMoves(
  client: ClientBase,
  { from, until, liveFrom, by }: Days,
): Promise<Map<string, UnitMove[]>> {
  const { rows } = await client.query<StoredMoves & { source: string; source_id: number }>(
    movesIn(by, "from souk_unit_moves($3, $2::date::timestamp at time zone 'UTC')", 'source, source_id,'),
    [from, until, liveFrom],
  );
  return byGroup(rows, (row) => `${row.source} ${row.source_id}`);
}

function byGroup<Row extends StoredMoves, Group>(
  rows: readonly Row[],
  groupOf: (row: Row) => Group,
): Map<Group, UnitMove[]> {
  const groups = new Map<Group, UnitMove[]>();
  for (const row of rows) {
    const { window, kind, part } = row;
    const units = row.units.split(' ');
    const moves = row.steps.split(' ').map((step, i): UnitMove => {
      return { window, kind, part, step: Math.max(-1, Number(step)), units: Number(units[i]) };
    });
    groups.set(groupOf(row), [...(groups.get(groupOf(row)) ?? []), ...moves]);
  }
  return groups;
}

async function namesOf(
  client: ClientBase,
  by: MarginGroup,
  groups: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (by !== 'customer' && by !== 'key') return new Map();
  const ids = groups.filter((group) => /^\d+$/.test(group));
  const { rows } = await client.query<{ id: string; name: string }>(
    by === 'customer'
      ? 'select id::text, name from accounts where id = any($1)'
      : "select id::text, prefix || coalesce(', ' || name, '') as name from api_keys where id = any($1)",
    [ids],
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

function nameOf(by: MarginGroup, group: string): string {
  if (group === WITHOUT_GROUP)
    return {
      day: 'No day',
      customer: 'No customer',
      plan: 'Calls that sold no units',
      key: 'Unused units, refunds and calls that sold no units',
      operation: 'Unused units and refunds',
    }[by];
  if (by === 'key') return group === '0' ? 'Pages and deleted keys' : `Key ${group}`;
  return group === 'pack ' ? 'Granted packs' : group;
}
