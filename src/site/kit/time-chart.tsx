import type { VNode } from 'preact';
import type { ChartScale } from '../../charts/product-series.ts';
import { type Column, Table } from './table.tsx';
import { formatterOf } from './words.tsx';

/** A series of values over time, in the order of time. */
export interface ChartSeries {
  name: string;
  scale: ChartScale;
  format?: Intl.NumberFormatOptions;
  /** Unix milliseconds and a value; null: no data from this time on. */
  points: readonly (readonly [at: number, value: number | null])[];
  /** Whether the chart shows the series at first. */
  shown: boolean;
}

export interface TimeChartProps {
  /** For screen readers, and the title of its picture. */
  name: string;
  series: readonly ChartSeries[];
  /** Whether a value holds until the next one, as a price does. Otherwise lines connect the values. */
  isStepped?: boolean;
  /** Lengths of time to choose from, in days. `All` is among them, if there are any. */
  ranges: readonly (readonly [days: number, name: string])[];
  /** The length that is shown first. Default: all. */
  initial?: number;
  /** The rows of the table: the values at the end of each month, or one row for each day, or for each time of day. */
  rows: 'months' | 'times' | 'hours';
  /** Whether it is one of several charts of a page: lower, and without the way to zoom and a place in the address. */
  isSmall?: boolean;
}

/** Names of the files that a page with charts loads. */
export const CHART_FILES = {
  styles: ['uPlot.min.css', 'time-chart.css'],
  libraries: ['uPlot.iife.min.js'],
  scripts: ['time-chart.js', 'chart-picture.js'],
} as const;

/** The periods of charts of products and keywords. They begin with three months. */
export const MONTHS = {
  ranges: [
    [30, 'Month'],
    [91, '3 months'],
    [182, '6 months'],
    [365, 'Year'],
  ],
  initial: 91,
} as const;

const MINUTE_MS = 60_000;

/** The number of colours that the style sheet has for lines; further series repeat them with dashes. */
const COLOURS = 6;

/** A chart that `time-chart.js` draws, with its controls and a table of the values. */
export function TimeChart(props: TimeChartProps): VNode {
  const { name, series, isStepped = false, ranges, initial, rows, isSmall = false } = props;
  const data = { isStepped, series: series.map(compact) };
  return (
    <>
      <figure
        class={isSmall ? 'time-chart small' : 'time-chart'}
        aria-label={name}
        data-chart={JSON.stringify(data)}
        data-addressed={isSmall ? undefined : true}
      >
        <div class="time-chart-bar">
          {ranges.length > 0 && (
            <fieldset class="segments" aria-label="Period">
              {ranges.map(([days, text]) => (
                <button key={days} type="button" data-days={days} aria-pressed={days === initial} disabled>
                  {text}
                </button>
              ))}
              <button type="button" data-days="" aria-pressed={initial === undefined} disabled>
                All
              </button>
            </fieldset>
          )}
          <span class="time-chart-at" aria-hidden="true" />
          <button type="button" class="small" data-picture hidden>
            Save as PNG
          </button>
        </div>
        <div
          class="time-chart-plot"
          role="slider"
          tabIndex={0}
          aria-label={`${name}: time`}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={100}
          aria-valuetext="Latest values"
        >
          <noscript>The chart needs JavaScript. The table below has its values.</noscript>
        </div>
        <ul class="time-chart-series">
          {series.map(({ name, shown, points, format }, i) => (
            <li key={name}>
              <label>
                <input type="checkbox" checked={shown} disabled data-series={i} />
                <span class={`line line-${(i % COLOURS) + 1}${i < COLOURS ? '' : ' dashed'}`} /> {name}{' '}
                <output>{valueText(points.at(-1)?.[1] ?? null, format)}</output>
              </label>
            </li>
          ))}
        </ul>
        {!isSmall && (
          <p class="hint">
            Drag across the chart to zoom in, double-click to zoom out. With the keyboard: arrows move through
            time, + and - zoom.
          </p>
        )}
      </figure>
      <details>
        <summary>Show as a table</summary>
        <ChartTable name={name} series={series} rows={rows} />
      </details>
    </>
  );
}

export function valueText(value: number | null, format: Intl.NumberFormatOptions = {}): string {
  return value === null ? '-' : formatterOf(format).format(value);
}

/** The series as the script reads it: times in minutes, each as the difference from the one before. */
function compact({ scale, format = {}, points }: ChartSeries) {
  let before = 0;
  const times = points.map(([at]) => {
    const minute = Math.round(at / MINUTE_MS);
    const difference = minute - before;
    before = minute;
    return difference;
  });
  return { scale, format, times, values: points.map(([, value]) => value) };
}

const ROW_NAMES = { months: 'Month', times: 'Date', hours: 'Time' } as const;

function ChartTable({ name, series, rows }: Pick<TimeChartProps, 'name' | 'series' | 'rows'>): VNode {
  const times = rowsOf(series, rows);
  const columns: Column<(typeof times)[number]>[] = [
    [ROW_NAMES[rows], ({ label }) => label, 'row'],
    ...series.map(
      ({ name, format }, i): Column<(typeof times)[number]> => [
        name,
        ({ values }) => valueText(values[i] ?? null, format),
        'number',
      ],
    ),
  ];
  return <Table name={`${name}, as a table`} columns={columns} rows={times} stacks={false} />;
}

interface Row {
  label: string;
  /** In the order of the series. */
  values: (number | null)[];
}

/** The values of all series at each time or at the end of each month, newest first. */
export function rowsOf(series: readonly ChartSeries[], rows: TimeChartProps['rows']): Row[] {
  const labelOf = (at: number) => {
    const iso = new Date(at).toISOString();
    if (rows === 'hours') return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
    return iso.slice(0, rows === 'months' ? 7 : 10);
  };
  const labels = [...new Set(series.flatMap(({ points }) => points.map(([at]) => labelOf(at))))].sort();
  const columns = series.map(({ points }) => {
    const byLabel = new Map(points.map(([at, value]) => [labelOf(at), value]));
    let held: number | null = null;
    return labels.map((label) => {
      const value = byLabel.get(label);
      // A value holds for the months without a change; a time has only its own.
      if (rows === 'months' && value === undefined) return held;
      held = value ?? null;
      return held;
    });
  });
  return labels
    .map((label, row) => ({ label, values: columns.map((column) => column[row] ?? null) }))
    .reverse();
}
