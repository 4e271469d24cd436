import type { Database } from '../platform/db/pool.ts';
import { allRows, unixMs } from '../platform/db/rows.ts';
import type { GrantKind, Wallet } from './wallets.ts';

export const LEDGER_KINDS = [
  ...(['grant', 'charge', 'reserve', 'settle', 'release', 'refund', 'expire'] as const),
  ...(['revoke', 'restore'] as const),
] as const;

export type LedgerKind = (typeof LEDGER_KINDS)[number];

/** A line of an account's ledger, as its customer sees it. Times are Unix milliseconds. */
export interface LedgerLine {
  /** Later lines have higher numbers. */
  id: number;
  at: number;
  kind: LedgerKind;
  wallet: Wallet;
  source: GrantKind;
  sourceId: number;
  callId: string | null;
  operation: string | null;
  /** The key of the call, as long as the call is kept; null for calls of the pages. */
  keyId: number | null;
  keyPrefix: string | null;
  /** The number of units that the line moves. */
  units: number;
  /**
   * The change of the units that can be spent: the changes of all lines of a pack add up to its remaining units. A
   * settlement has 0, because the reservation has already taken its units.
   */
  change: number;
}

/** Selects lines; absent fields select all. Times are [from, to) in Unix milliseconds. */
interface LedgerFilter {
  kind?: LedgerKind | undefined;
  wallet?: Wallet | undefined;
  operation?: string | undefined;
  from?: number | undefined;
  to?: number | undefined;
}

/** Lines with their source, wallet and call. Each query adds its condition and order. */
const LINES = `select l.id, ${unixMs('l.at')} as at, l.kind, coalesce(s.wallet, k.wallet) as wallet, l.source, l.source_id as "sourceId",
    l.call_id as "callId", c.operation, c.key_id as "keyId", a.prefix as "keyPrefix", l.units,
    coalesce((select e.units from ledger_entries e
      where e.account_id = l.account_id and e.id = l.id and e.at = l.at and e.place = 'available'), 0) as change
  from ledger l
  left join subscriptions s on l.source = 'subscription' and s.id = l.source_id
  left join packs k on l.source = 'pack' and k.id = l.source_id
  left join calls c on c.account_id = l.account_id and c.id = l.call_id
  left join api_keys a on a.id = c.key_id`;

/** The ids of the account's sources of a wallet, which are read once, before the lines. Without any, no line is read. */
const sourcesOf = (table: 'subscriptions' | 'packs') =>
  `array(select id from ${table} where account_id = $1 and wallet = $5)`;
const SOURCES = { subscriptions: sourcesOf('subscriptions'), packs: sourcesOf('packs') };

/** Returns a page of an account's lines, the newest first. `before` is the id of the last line of the previous page. */
export function ledgerLines(
  database: Database,
  accountId: number,
  { limit, before, filter = {} }: { limit: number; before?: number | undefined; filter?: LedgerFilter },
) {
  const { kind = null, wallet = null, operation = null, from, to } = filter;
  return allRows<LedgerLine>(
    database,
    `${LINES}
     where l.account_id = $1 and ($3::bigint is null or l.id < $3)
       and ($4::ledger_kind is null or l.kind = $4)
       and ($5::wallet is null or l.source_id = any(case l.source when 'subscription' then ${SOURCES.subscriptions} else ${SOURCES.packs} end))
       and ($5::wallet is null or cardinality(${SOURCES.subscriptions}) + cardinality(${SOURCES.packs}) > 0)
       and ($6::text is null or c.operation = $6)
       and ($7::timestamptz is null or l.at >= $7) and ($8::timestamptz is null or l.at < $8)
     order by l.id desc limit $2`,
    [accountId, limit, before ?? null, kind, wallet, operation, dateOf(from), dateOf(to)],
  );
}

/**
 * Returns the units in the account's packs after each of the given lines of its ledger, by number, the newest first: the
 * units at present minus the changes by later lines.
 */
export async function packUnitsAfter(
  database: Database,
  accountId: number,
  lines: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const ids = lines.toReversed();
  if (ids.length === 0) return new Map();
  // Lines between the given ones count too, so the database adds up the changes of each interval.
  const { rows } = await database.query<{ id: number; packUnits: number }>(
    `with stretches as (
       select width_bucket(e.id - 1, $2::bigint[]) as number, sum(e.units) as change
       from ledger_entries e
       where e.account_id = $1 and e.id > ($2::bigint[])[1] and e.source = 'pack' and e.place = 'available'
       group by 1),
     present as (select coalesce(sum(remaining_units), 0) as units from packs where account_id = $1)
     select line.id, (present.units
       - coalesce(sum(stretches.change) over (order by line.number desc), 0))::bigint as "packUnits"
     from unnest($2::bigint[]) with ordinality as line (id, number)
     cross join present left join stretches on stretches.number = line.number`,
    [accountId, ids],
  );
  return new Map(rows.map(({ id, packUnits }) => [id, packUnits]));
}

/** Lines in each page of a walk: a few milliseconds of work. */
const WALK_LINES = 250;

/** Yields all lines that match a filter, the newest first. Pages are read while the rows are. */
export async function* ledgerRows(
  database: Database,
  accountId: number,
  filter: LedgerFilter,
): AsyncGenerator<Record<string, unknown>> {
  let before: number | undefined;
  for (;;) {
    const lines = await ledgerLines(database, accountId, { limit: WALK_LINES, before, filter });
    for (const { id: line, at, ...fields } of lines) yield { line, at: new Date(at), ...fields };
    if (lines.length < WALK_LINES) return;
    before = lines.at(-1)?.id;
  }
}

function dateOf(unixMs: number | undefined): Date | null {
  return unixMs === undefined ? null : new Date(unixMs);
}
