import type { Queryable } from '../../platform/db/pool.ts';
import { BOUND_COLUMNS, HOUR_COLUMNS, RUN_TIME_BOUNDS_MS } from '../call-records.ts';
import { type ActivitySeries, type OperationActivity, p95, percent, sum } from './activity.ts';
import { dates, type Steps, stepOf, type ToSeries, type Values } from './steps.ts';

type Column = (typeof HOUR_COLUMNS)[number];

/** Sums of an operation in a step. */
type Cell = { step: number; operation: string } & Record<Column, number>;

const BOUNDS_SECONDS = RUN_TIME_BOUNDS_MS.map((bound) => bound / 1000);

/** The operations whose run times the chart shows. */
const MOST_OPERATIONS = 6;

/** Reads what the usage statistics have: figures of all operations by step, and of each operation in the whole range. */
export async function readOperations(client: Queryable, steps: Steps, toSeries: ToSeries) {
  const { rows } = await client.query<Cell>(
    `select ${stepOf('hour')} as step, operation, ${HOUR_COLUMNS.map((column) => `sum(${column})::double precision as ${column}`).join(', ')}
     from operation_hours where hour >= $2 group by 1, 2`,
    [dates(steps.starts), new Date(steps.starts[0] ?? 0)],
  );
  const byStep = Map.groupBy(rows, ({ step }) => step);
  const byOperation = Map.groupBy(rows, ({ operation }) => operation);
  const operations = [...byOperation]
    .map(([operation, cells]) => activityOf(operation, cells))
    .sort((a, b) => b.jobs - a.jobs || b.calls - a.calls || (a.operation < b.operation ? -1 : 1));
  const cellsOf = steps.starts.map((_, step) => byStep.get(step) ?? []);
  const charts = {
    units: [sums('units', 'Units', 'units_sold'), sums('calls', 'Calls', 'calls')],
    tokens: [sums('spent', 'Spent', 'tokens_spent'), sums('saved', 'Saved by cache', 'tokens_saved')],
    hits: [shares('hitRate', 'Hit rate', 'cache_hits', hitPercent)],
    errors: [shares('errorRate', 'Errors', 'failed', errorPercent)],
    p95: operations
      .filter(({ jobs }) => jobs > 0)
      .slice(0, MOST_OPERATIONS)
      .map(({ operation, p95Seconds }) => {
        const own = inSteps(byOperation.get(operation) ?? []);
        return toSeries(operation, operation, own.map(p95Of), p95Seconds, jobsIn(own));
      }),
  };
  return { operations, charts };

  function sums(id: string, name: string, column: Column): ActivitySeries {
    const values = cellsOf.map((cells) => whole(cells, column));
    return toSeries(id, name, values, sum(values));
  }

  function shares(id: string, name: string, part: Column, of: (cells: readonly Cell[]) => number | null) {
    const parts = cellsOf.map((cells) => whole(cells, part));
    return toSeries(id, name, cellsOf.map(of), of(rows), parts);
  }

  function inSteps(cells: readonly Cell[]): (Cell | undefined)[] {
    const ofStep = new Map(cells.map((cell) => [cell.step, cell]));
    return steps.starts.map((_, step) => ofStep.get(step));
  }
}

const jobsIn = (cells: readonly (Cell | undefined)[]): Values => cells.map((cell) => (cell ? cell.jobs : 0));

const p95Of = (cell: Cell | undefined) =>
  cell
    ? p95(
        cell.jobs,
        BOUND_COLUMNS.map((column) => cell[column]),
        BOUNDS_SECONDS,
      )
    : null;

function whole(cells: readonly Cell[], column: Column): number {
  return cells.reduce((all, cell) => all + cell[column], 0);
}

function hitPercent(cells: readonly Cell[]): number | null {
  return percent(whole(cells, 'cache_hits'), whole(cells, 'calls'));
}

function errorPercent(cells: readonly Cell[]): number | null {
  const failed = whole(cells, 'failed');
  return percent(failed, failed + whole(cells, 'calls'));
}

function activityOf(operation: string, cells: readonly Cell[]): OperationActivity {
  const jobs = whole(cells, 'jobs');
  const counts = BOUND_COLUMNS.map((column) => whole(cells, column));
  return {
    operation,
    calls: whole(cells, 'calls'),
    unitsSold: whole(cells, 'units_sold'),
    tokensSpent: whole(cells, 'tokens_spent'),
    hitPercent: hitPercent(cells),
    errorPercent: errorPercent(cells),
    jobs,
    p95Seconds: p95(jobs, counts, BOUNDS_SECONDS),
  };
}
