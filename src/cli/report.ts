import Table from 'cli-table3';

/** The output of a command: `data` for scripts, `text` for people. */
export interface Report {
  data: unknown;
  text: string;
  /** The command exits with an error although it has printed its report. */
  failed?: boolean;
}

export type Cell = string | number | Date | null | undefined;

/** Formats a table. Numbers are right-aligned; null is a dash. */
export function table(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  if (rows.length === 0) return 'None.';
  const drawn = new Table({
    head: [...columns],
    colAligns: columns.map((_, i) =>
      rows.every((row) => typeof row[i] === 'number' || row[i] === null) ? 'right' : 'left',
    ),
    style: { head: [], border: [], compact: true },
  });
  drawn.push(...rows.map((row) => row.map(show)));
  return drawn.toString();
}

/** Formats a time in UTC. */
export function moment(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function show(cell: Cell): string {
  if (cell === null || cell === undefined) return '-';
  if (cell instanceof Date) return moment(cell);
  return typeof cell === 'number' ? cell.toLocaleString('en-US') : cell;
}
