import { Counter, type Registry } from 'prom-client';

/** One number of a tally. Raising it is an addition, nothing else. */
export interface Cell {
  value: number;
}

/**
 * A counter that is read only when somebody asks for the metrics. Raising a counter of prom-client takes about a microsecond,
 * and a call raises several; a cell is looked up once and then costs nothing.
 * @returns the cell of some values of the labels.
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
