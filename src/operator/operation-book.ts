import { type Clock, every } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import type { Logger } from '../platform/log.ts';

const WRITE_EVERY_MS = 5_000;

/**
 * What operations bring and cost, for the operator. Each process adds up what it sees and writes it down every few
 * seconds, so a process that dies takes its last seconds along; the ledger alone is exact.
 */
export interface OperationBook {
  /** A call was settled, for so many units. */
  sold(operation: string, units: number): void;
  /** The data provider has taken tokens for it. */
  spent(operation: string, tokens: number): void;
  /** What it needed was there, and had cost so many tokens once. */
  saved(operation: string, tokens: number): void;
  /** Writes down what was noticed so far. */
  write(): Promise<void>;
  close(): Promise<void>;
}

interface Sums {
  calls: number;
  units: number;
  spent: number;
  saved: number;
}

export function createOperationBook(database: Database, clock: Clock, log: Logger): OperationBook {
  let pending = new Map<string, Sums>();

  function sumsOf(operation: string): Sums {
    const known = pending.get(operation);
    if (known) return known;
    const sums = { calls: 0, units: 0, spent: 0, saved: 0 };
    pending.set(operation, sums);
    return sums;
  }

  async function write(): Promise<void> {
    if (pending.size === 0) return;
    const written = pending;
    pending = new Map();
    // In one order everywhere, so that two processes never wait for each other.
    const lines = [...written].sort(([a], [b]) => (a < b ? -1 : 1));
    try {
      await database.query(
        `insert into operation_hours as h (hour, operation, calls, units_sold, tokens_spent, tokens_saved)
         select date_trunc('hour', $1::timestamptz, 'UTC'), * from unnest($2::text[], $3::bigint[], $4::bigint[],
           $5::double precision[], $6::double precision[])
         on conflict (hour, operation) do update set calls = h.calls + excluded.calls,
           units_sold = h.units_sold + excluded.units_sold, tokens_spent = h.tokens_spent + excluded.tokens_spent,
           tokens_saved = h.tokens_saved + excluded.tokens_saved`,
        [
          new Date(clock.now()),
          lines.map(([operation]) => operation),
          ...(['calls', 'units', 'spent', 'saved'] as const).map((field) =>
            lines.map(([, sums]) => sums[field]),
          ),
        ],
      );
    } catch (error) {
      log.debug({ err: error }, 'the sums of operations were not written down yet');
      for (const [operation, { calls, units, spent, saved }] of written) {
        const sums = sumsOf(operation);
        sums.calls += calls;
        sums.units += units;
        sums.spent += spent;
        sums.saved += saved;
      }
    }
  }

  const stop = every(clock, WRITE_EVERY_MS, write);
  return {
    sold(operation, units) {
      const sums = sumsOf(operation);
      sums.calls += 1;
      sums.units += units;
    },
    spent(operation, tokens) {
      sumsOf(operation).spent += tokens;
    },
    saved(operation, tokens) {
      sumsOf(operation).saved += tokens;
    },
    write,
    async close() {
      await stop();
      await write();
    },
  };
}
