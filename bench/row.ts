/** One row of the table. */
export interface Row {
  what: string;
  ours: string;
  baseline: string;
  ratio: number;
  aim: string;
  /** Unexpected answers, on either side. */
  failures: number;
}

export function printRows(rows: readonly Row[]): void {
  console.table(
    rows.map(({ what, ours, baseline, ratio, aim, failures }) => ({
      what,
      ours,
      baseline,
      ratio: Number(ratio.toFixed(2)),
      aim,
      failures,
    })),
  );
}
