import { Counter, type Registry } from 'prom-client';

/** One number of a tally. */
export interface Cell {
  value: number;
}

/**
 * Creates a counter that is copied to prom-client only when metrics are read. A call increments several counters; an
 * increment in prom-client takes about a microsecond, while one of a cell is an addition.
 * @returns a function that returns the cell of some label values.
 */
export function createTally<const Labels extends readonly string[]>(
  registry: Registry,
  { name, help, labels }: { name: string; help: string; labels: Labels },
): (...values: { [Index in keyof Labels]: string }) => Cell {
  const cells = new Map<string, { values: string[]; cell: Cell }>();
  new Counter({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
    collect() {
      this.reset();
      for (const { values, cell } of cells.values()) this.labels(...values).inc(cell.value);
    },
  });
  return (...values) => {
    const known = cells.get(values.join('\n'));
    if (known) return known.cell;
    const cell = { value: 0 };
    cells.set(values.join('\n'), { values: [...values], cell });
    return cell;
  };
}
