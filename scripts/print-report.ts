import type { SoakReport } from '../test/support/soak/soak.ts';

const SHOWN_EACH = 5;

/** Prints the report of a soak. @returns whether no rule was broken. */
export function printReport({ counts, strikes, highest, drainMs, faults }: SoakReport): boolean {
  for (const table of [counts, strikes, highest]) console.table(table);
  console.table({ 'ms until all had ended': drainMs, faults: faults.length });
  for (const promise of new Set(faults.map((fault) => fault.promise))) {
    const rows = faults.filter((fault) => fault.promise === promise).map(({ row }) => row);
    console.error(`BROKEN, ${rows.length} times: ${promise}`);
    for (const row of rows.slice(0, SHOWN_EACH)) console.error(row);
  }
  return faults.length === 0;
}
