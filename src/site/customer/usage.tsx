import { group, max, sum } from 'd3-array';
import { scaleBand, scaleLinear } from 'd3-scale';
import { stack } from 'd3-shape';
import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import type { DailyUse } from '../../billing/statement.ts';
import { TABLE_FORMAT_NAMES } from '../../operations/tables/formats.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { PrimaryLink, Segments, SmallLink } from '../kit/elements.tsx';
import { readValues } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { addressOf } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { count } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { apiData, sendDownload } from './customer-api.ts';

const PATH = '/account/usage';

const PERIODS = ['7', '30', '90'] as const;

/** Any other value in the address means the default. */
const choices = z.object({
  days: z.enum(PERIODS).catch('30'),
  measure: z.enum(['units', 'calls']).catch('units'),
});

type Choices = z.output<typeof choices>;

const MEASURES = [
  ['units', 'Units'],
  ['calls', 'Calls'],
] as const;

/** Registers the page of the account's use by day and operation. */
export function registerUsage(scope: FastifyInstance, { clock }: Pages): void {
  scope.get(PATH, async (request, reply) => {
    const chosen = choices.parse(readValues(request.query));
    const now = clock.now();
    const days = Number(chosen.days);
    const from = dayOf(firstDayAt(now, days));
    const { usage: rows } = await apiData<{ usage: DailyUse[] }>(request, 'GET', `/api/usage?from=${from}`);
    return sendPage(
      reply,
      <Page title="Usage" heading={null} styles={['account.css']}>
        <div class="row">
          <h1>Usage</h1>
          <div class="row push">
            <Choose name="Measure" chosen={chosen} field="measure" options={MEASURES} />
            <Choose
              name="Period"
              chosen={chosen}
              field="days"
              options={PERIODS.map((period) => [period, `${period} days`] as const)}
            />
          </div>
        </div>
        {rows.length === 0 ? (
          <div class="card empty">
            <p>No calls in the last {days} days.</p>
            <PrimaryLink to="/account/try">Try a call</PrimaryLink>
          </div>
        ) : (
          <>
            <Use
              rows={rows}
              series={usageSeries(rows, { days, now, measure: chosen.measure })}
              measure={chosen.measure}
            />
            <p class="row">
              Download:
              {TABLE_FORMAT_NAMES.map((format) => (
                <SmallLink key={format} to={addressOf(`${PATH}.${format}`, { days: chosen.days })} download>
                  {format.toUpperCase()}
                </SmallLink>
              ))}
            </p>
          </>
        )}
        <p class="hint">
          Days are in UTC. A call counts on the day it was accepted. Calls in progress have not been charged
          yet. The <a href="/account/ledger">ledger</a> lists every charge.
        </p>
      </Page>,
    );
  });

  scope.get(`${PATH}.:format(^(?:${TABLE_FORMAT_NAMES.join('|')})$)`, async (request, reply) => {
    const { format } = request.params as { format: string };
    const { days } = choices.parse(readValues(request.query));
    const now = clock.now();
    const from = dayOf(firstDayAt(now, Number(days)));
    const url = addressOf('/api/usage', { from, format });
    return sendDownload(request, reply, { url, name: `souk-usage-${dayOf(now)}` });
  });
}

function Use(props: { rows: readonly DailyUse[]; series: UsageSeries; measure: Measure }): VNode {
  const { rows, series, measure } = props;
  return (
    <>
      <Totals series={series} />
      <section class="card" aria-label="By day and operation">
        <UsageChart series={series} measure={measure} />
      </section>
      <Operations rows={rows} />
      <Days series={series} measure={measure} />
    </>
  );
}

function Choose(props: {
  name: string;
  chosen: Choices;
  field: keyof Choices;
  options: readonly (readonly [value: string, text: string])[];
}): VNode {
  const { name, chosen, field, options } = props;
  const links = options.map(
    ([value, text]) =>
      [addressOf(PATH, { ...chosen, [field]: value }), text, chosen[field] === value] as const,
  );
  return <Segments name={name} current="true" links={links} />;
}

function Totals({ series: { days } }: { series: UsageSeries }): VNode {
  const busiest = days.reduce((a, b) => (b.units > a.units ? b : a));
  const totals = [
    ['Units', sum(days, ({ units }) => units)],
    ['Calls', sum(days, ({ calls }) => calls)],
    ['Units today', days.at(-1)?.units ?? 0],
    [`Busiest day, ${busiest.day}`, busiest.units],
  ] as const;
  return (
    <dl class="totals">
      {totals.map(([name, value]) => (
        <div key={name} class="card">
          <dt>{name}</dt>
          <dd class="figure">{count(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Operations({ rows }: { rows: readonly DailyUse[] }): VNode {
  const totals = [...group(rows, ({ operation }) => operation)].map(([operation, some]) => ({
    operation,
    calls: sum(some, ({ calls }) => calls),
    units: sum(some, ({ units }) => units),
  }));
  return (
    <Table
      name="By operation"
      rows={totals.sort((a, b) => b.units - a.units || b.calls - a.calls)}
      columns={[
        [
          'Operation',
          ({ operation }) => <a href={addressOf('/account/ledger', { operation })}>{operation}</a>,
          'row',
        ],
        ['Calls', ({ calls }) => count(calls), 'number'],
        ['Units', ({ units }) => count(units), 'number'],
      ]}
    />
  );
}

/** The chart as a table, without days that have no call. */
function Days({ series: { names, days }, measure }: { series: UsageSeries; measure: Measure }): VNode {
  return (
    <details>
      <summary>Show as a table</summary>
      <Table
        name={`${measure} by day and operation`}
        rows={days.filter(({ calls }) => calls > 0)}
        columns={[
          ['Day', ({ day }) => day, 'row'],
          ...names.map(
            (name) =>
              [name, ({ bySeries }) => count(bySeries[name] ?? 0), 'number'] satisfies Column<UsageDay>,
          ),
          ['Total', (day) => count(day[measure]), 'number'],
        ]}
      />
    </details>
  );
}

type Measure = 'units' | 'calls';

/** The values of one day of the chart, by series. */
interface UsageDay {
  /** UTC, YYYY-MM-DD. */
  day: string;
  bySeries: Record<string, number>;
  units: number;
  calls: number;
}

interface UsageSeries {
  /** The most used operations in descending order, and `others` for the rest. */
  names: readonly string[];
  days: readonly UsageDay[];
}

/** The number of colours. */
const MAX_SERIES = 6;

export const OTHERS = 'others';

/** Groups use by day. The period ends today and includes days without calls. */
export function usageSeries(
  rows: readonly DailyUse[],
  { days, now, measure }: { days: number; now: number; measure: Measure },
): UsageSeries {
  const byOperation = [...group(rows, ({ operation }) => operation)]
    .map(([operation, some]) => ({ operation, total: sum(some, (row) => row[measure]) }))
    .sort((a, b) => b.total - a.total || (a.operation < b.operation ? -1 : 1));
  const all = byOperation.map(({ operation }) => operation);
  const own = all.length > MAX_SERIES ? all.slice(0, MAX_SERIES - 1) : all;
  const names = all.length > own.length ? [...own, OTHERS] : own;
  const byDay = group(rows, ({ day }) => day);
  return {
    names,
    days: Array.from({ length: days }, (_, i) => {
      const day = dayOf(now - (days - 1 - i) * DAY_MS);
      const some = byDay.get(day) ?? [];
      const bySeries: Record<string, number> = Object.fromEntries(names.map((name) => [name, 0]));
      for (const row of some) {
        const name = own.includes(row.operation) ? row.operation : OTHERS;
        bySeries[name] = (bySeries[name] ?? 0) + row[measure];
      }
      return { day, bySeries, units: sum(some, (row) => row.units), calls: sum(some, (row) => row.calls) };
    }),
  };
}

/** The start of a period of so many days that ends today, in Unix milliseconds. */
function firstDayAt(now: number, days: number): number {
  return Date.parse(dayOf(now)) - (days - 1) * DAY_MS;
}

function dayOf(unixMs: number): string {
  return new Date(unixMs).toISOString().slice(0, 10);
}

/** In SVG units. Narrow screens get a narrow drawing, so that text keeps its size. */
const SIZES = {
  broad: { width: 960, height: 320, dayLabels: 10 },
  narrow: { width: 360, height: 260, dayLabels: 4 },
} as const;

const MARGIN = { top: 12, right: 4, bottom: 26, left: 46 };

const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const SHORT_DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** A bar per day, stacked by operation. */
function UsageChart({ series, measure }: { series: UsageSeries; measure: Measure }): VNode {
  return (
    <>
      {(['broad', 'narrow'] as const).map((size) => (
        <Drawing key={size} size={size} series={series} measure={measure} />
      ))}
      <ul class="legend">
        {series.names.map((name, i) => (
          <li key={name}>
            <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
              <rect class={`series-${i + 1}`} width="10" height="10" rx="2" />
            </svg>
            {name}
          </li>
        ))}
      </ul>
    </>
  );
}

function Drawing(props: { size: keyof typeof SIZES; series: UsageSeries; measure: Measure }): VNode {
  const { size, series, measure } = props;
  const { names, days } = series;
  const { width, height, dayLabels } = SIZES[size];
  const x = scaleBand(
    days.map(({ day }) => day),
    [MARGIN.left, width - MARGIN.right],
  ).padding(days.length > 31 ? 0.15 : 0.25);
  const highest = max(days, (day) => day[measure]) ?? 0;
  const y = scaleLinear([0, Math.max(highest, 1)], [height - MARGIN.bottom, MARGIN.top]).nice(4);
  const layers = stack<unknown, UsageDay, string>()
    .keys(names)
    .value((day, name) => day.bySeries[name] ?? 0)(days);
  const labelEvery = Math.ceil(days.length / dayLabels);
  return (
    <div class={`chart ${size}`}>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={describe(days, measure)}>
        {y
          .ticks(4)
          .filter(Number.isInteger)
          .map((tick) => (
            <g key={tick} transform={`translate(0 ${round(y(tick))})`}>
              <line class="rule" x1={MARGIN.left} x2={width - MARGIN.right} />
              <text x={MARGIN.left - 8} dy="0.32em" text-anchor="end">
                {COMPACT.format(tick)}
              </text>
            </g>
          ))}
        {days.map((day, i) => (
          <g key={day.day} class="day" transform={`translate(${round(x(day.day) ?? 0)} 0)`}>
            <title>{titleOf(day, names)}</title>
            <rect class="ground" y={MARGIN.top} width={round(x.bandwidth())} height={height - MARGIN.top} />
            {layers.map((layer, series) => {
              const [from, to] = layer[i] ?? [0, 0];
              const tall = round(y(from) - y(to));
              return tall > 0 ? (
                <rect
                  key={layer.key}
                  class={`series-${series + 1}`}
                  y={round(y(to))}
                  width={round(x.bandwidth())}
                  height={tall}
                />
              ) : null;
            })}
            {/* Counted from the end, so that today has a label. */}
            {(days.length - 1 - i) % labelEvery === 0 && (
              <text
                x={round(x.bandwidth() / 2)}
                y={height - 8}
                text-anchor={i === days.length - 1 ? 'end' : 'middle'}
              >
                {SHORT_DAY.format(new Date(day.day))}
              </text>
            )}
          </g>
        ))}
      </svg>
    </div>
  );
}

/** The tooltip of a day. */
function titleOf({ day, bySeries, units, calls }: UsageDay, names: readonly string[]): string {
  const parts = names.filter((name) => bySeries[name]).map((name) => `${name} ${count(bySeries[name] ?? 0)}`);
  return [`${day}: ${count(units)} units, ${count(calls)} calls`, ...parts].join('\n');
}

function describe(days: readonly UsageDay[], measure: Measure): string {
  const total = sum(days, (day) => day[measure]);
  return `Bar chart of ${measure} per day from ${days[0]?.day} to ${days.at(-1)?.day}, ${count(total)} in total. The table below has the same numbers.`;
}

/** Rounds to tenths, which are finer than any screen and keep the page small. */
function round(value: number): number {
  return Math.round(value * 10) / 10;
}
