import { type Clock, every } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import type { Logger } from '../platform/log.ts';
import type { StoringSink } from '../platform/telemetry/call-events.ts';

const WRITE_EVERY_MS = 5_000;

interface Sums {
  calls: number;
  units: number;
  spent: number;
  saved: number;
}

/**
 * Sums, by operation and hour, the calls and units that were charged and the tokens that were spent and saved. Each process
 * adds its own sums every few seconds, so a process that dies loses its last seconds; only the ledger is exact.
 */
export function createUsageStatistics(database: Database, clock: Clock, log: Logger): StoringSink {
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
    try {
      await addSums(database, written, clock.now());
    } catch (error) {
      log.debug({ err: error }, 'failed to write usage statistics, will retry');
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
    onEvent(event) {
      switch (event.type) {
        case 'call.cached':
        case 'call.settled': {
          const sums = sumsOf(event.operation);
          sums.calls += 1;
          sums.units += event.units;
          break;
        }
        case 'call.refunded':
          sumsOf(event.operation).units -= event.units;
          break;
        case 'tokens.spent':
          sumsOf(event.operation).spent += event.tokens;
          break;
        case 'answer.hit':
        case 'source.hit':
          if (event.tokens > 0) sumsOf(event.operation).saved += event.tokens;
          break;
        default:
      }
    },
    async close() {
      await stop();
      await write();
    },
  };
}

async function addSums(database: Database, sums: ReadonlyMap<string, Sums>, now: number): Promise<void> {
  // All processes write in the same order, so that they cannot deadlock.
  const lines = [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
  await database.query(
    `insert into operation_hours as h (hour, operation, calls, units_sold, tokens_spent, tokens_saved)
     select date_trunc('hour', $1::timestamptz, 'UTC'), * from unnest($2::text[], $3::bigint[], $4::bigint[],
       $5::double precision[], $6::double precision[])
     on conflict (hour, operation) do update set calls = h.calls + excluded.calls,
       units_sold = h.units_sold + excluded.units_sold, tokens_spent = h.tokens_spent + excluded.tokens_spent,
       tokens_saved = h.tokens_saved + excluded.tokens_saved`,
    [
      new Date(now),
      lines.map(([operation]) => operation),
      ...(['calls', 'units', 'spent', 'saved'] as const).map((field) => lines.map(([, sum]) => sum[field])),
    ],
  );
}
