import type { Database } from '../../platform/db/pool.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { DAY_MS, MINUTE_MS } from '../../platform/durations.ts';

/** A line is written at most this long after its time, except by a transaction that has begun until then. */
const DELAY_MS = 10 * MINUTE_MS;

/** Days that are summed in one run. */
const MOST_DAYS = 30;

/**
 * Adds lines of the ledger to the sums by day that the margin is computed from, each once, even if several processes do it. Lines
 * are older than ten minutes, and than all transactions that run.
 */
export async function sumUnits(database: Database, now: number): Promise<void> {
  for (let days = 0; days < MOST_DAYS; days += 1) if (!(await sumDay(database, now))) return;
}

interface Progress {
  summedUntil: Date;
  nextUntil: Date | null;
  /** Whether all transactions have ended that could write a line before `nextUntil`. */
  isFinal: boolean;
  /** The database was restored from a copy, whose transactions have other numbers. */
  isForeign: boolean;
}

/** Sums at most one day, or notes until when to sum next. @returns whether it has summed. */
function sumDay(database: Database, now: number): Promise<boolean> {
  return inTransaction(database, async (client) => {
    await client.query(
      `insert into unit_sums (summed_until)
       select coalesce((select date_trunc('day', min(created_at), 'UTC') from accounts), $1) on conflict do nothing`,
      [new Date(now)],
    );
    const { rows } = await client.query<Progress>(
      `select summed_until as "summedUntil", next_until as "nextUntil",
         next_xid <= pg_snapshot_xmin(pg_current_snapshot()) as "isFinal",
         next_xid > pg_snapshot_xmax(pg_current_snapshot()) as "isForeign"
       from unit_sums for update`,
    );
    const [progress] = rows;
    if (!progress) return false;
    const { summedUntil, nextUntil, isFinal, isForeign } = progress;
    if (nextUntil === null || isForeign) {
      await client.query(
        `update unit_sums set next_until = greatest($1, summed_until), next_xid = pg_snapshot_xmax(pg_current_snapshot())`,
        [new Date(now - DELAY_MS)],
      );
      return false;
    }
    if (!isFinal) return false;
    const dayEnd = (Math.floor(summedUntil.getTime() / DAY_MS) + 1) * DAY_MS;
    const until = new Date(Math.min(nextUntil.getTime(), dayEnd));
    await client.query(
      `insert into unit_days as d (source, source_id, period, day, kind, operation, key_id, account_id, units)
       select * from souk_unit_moves($1, $2)
       on conflict (source, source_id, period, day, kind, operation, key_id) do update set units = d.units + excluded.units`,
      [summedUntil, until],
    );
    const isDone = until >= nextUntil;
    await client.query(
      `update unit_sums set summed_until = $1, next_until = case when not $2 then next_until end,
         next_xid = case when not $2 then next_xid end`,
      [until, isDone],
    );
    return true;
  });
}

/** How far the ledger is summed; null: not at all. */
export async function summedUntil(database: Pick<Database, 'query'>): Promise<Date | null> {
  const { rows } = await database.query<{ at: Date }>('select summed_until as at from unit_sums');
  return rows[0]?.at ?? null;
}
