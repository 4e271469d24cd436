import type { SoakReport } from '../test/support/soak/soak.ts';

const SHOWN_EACH = 5;

/** Prints the report of a soak, and ends the process: with 1 if a rule was broken. */
export function printReport({
  sent,
  strikes,
  calls,
  background,
  highest,
  drainMs,
  faults,
}: SoakReport): never {
  for (const table of [sent, strikes, background, highest]) console.table(table);
  console.table({ ...calls, 'ms until all had ended': drainMs, faults: faults.length });
  for (const promise of new Set(faults.map((fault) => fault.promise))) {
    const rows = faults.filter((fault) => fault.promise === promise).map(({ row }) => row);
    console.error(`BROKEN, ${rows.length} times: ${promise}`);
    for (const row of rows.slice(0, SHOWN_EACH)) console.error(row);
  }
  process.exit(faults.length === 0 ? 0 : 1);
}
