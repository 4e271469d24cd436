import type { Database } from '../../../src/platform/db/pool.ts';
import { run } from '../../../src/platform/embedded/binaries.ts';
import type { Fault } from './ledger-audit.ts';
import type { SoakServices } from './services.ts';

/** Reads memory and table sizes now and then. */
export interface Monitor {
  /** Returns the present values as a line of text. */
  look(): Promise<string>;
  /** The highest values that were seen, in MiB. */
  readonly highest: Record<string, number>;
  audit(): Fault[];
}

/** The most memory of a gateway or worker, and the largest size of a table whose rows follow the present load, in MiB. */
const BOUNDS = { gateway: 1_024, worker: 1_024, open_calls: 128, call_claims: 512, leases: 8 };

const MIB = 2 ** 20;

export function createMonitor({ database, pids }: SoakServices): Monitor {
  const highest: Record<string, number> = {};

  return {
    highest,
    async look() {
      // A process may be dead, and PostgreSQL as well.
      const sizes = {
        ...(await memory(pids()).catch(() => ({}))),
        ...(await tables(database).catch(() => ({}))),
      };
      for (const [name, size] of Object.entries(sizes)) highest[name] = Math.max(highest[name] ?? 0, size);
      return Object.entries({ ...sizes, soak: Math.round(process.memoryUsage.rss() / MIB) })
        .map(([name, size]) => `${name} ${size}`)
        .join(', ');
    },
    audit() {
      return Object.entries(BOUNDS).flatMap(([kind, most]) =>
        Object.entries(highest)
          .filter(([name, size]) => name.startsWith(kind) && size > most)
          .map(([name, size]) => ({
            promise: 'memory and tables stay within bounds',
            row: { name, size, most },
          })),
      );
    },
  };
}

async function memory(pids: Record<string, number>): Promise<Record<string, number>> {
  const { stdout } = await run('ps', ['-o', 'pid=,rss=', '-p', Object.values(pids).join(',')]);
  const sizes = new Map(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number) as [number, number]),
  );
  return Object.fromEntries(
    Object.entries(pids).flatMap(([name, pid]) => {
      const kib = sizes.get(pid);
      return kib === undefined ? [] : [[name, Math.round(kib / 1024)]];
    }),
  );
}

async function tables(database: Database): Promise<Record<string, number>> {
  const { rows } = await database.query<{ name: string; bytes: number }>(
    `select name, pg_total_relation_size(name::regclass)::float8 as bytes
     from unnest(array['open_calls', 'call_claims', 'leases']) as name`,
  );
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, Math.ceil(bytes / MIB)]));
}
