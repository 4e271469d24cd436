import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import {
  ACTIVITY_RANGES,
  type ActivityChart,
  type ActivityChartId,
  type ActivityRange,
  type ActivityReport,
  type ActivitySeries,
  type ActivityUnit,
  activityFields,
  type OperationActivity,
} from '../../operator/activity/activity.ts';
import { readActivity } from '../../operator/activity/read-activity.ts';
import { MOST_DAYS } from '../../operator/margin/margin.ts';
import { addDays } from '../../platform/calendar.ts';
import { requireFilter } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { addressOf } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { CHART_FILES, TimeChart, valueText } from '../kit/time-chart.tsx';
import { amount, count } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';

const PATH = '/admin/activity';

/** Operations that the page shows; the API has all. */
const MOST_OPERATIONS = 100;

/** Registers the page of figures of the business over time. */
export function registerActivity(scope: FastifyInstance, { database, clock, currency }: Pages): void {
  scope.get(PATH, async (request, reply) => {
    const { range } = requireFilter(activityFields, request.query);
    const report = await readActivity(database, range, { currency, now: clock.now() });
    return sendPage(
      reply,
      <Page
        title="Activity"
        styles={['account.css', ...CHART_FILES.styles]}
        libraries={CHART_FILES.libraries}
        scripts={CHART_FILES.scripts}
        wide
      >
        <Ranges chosen={range} />
        <Totals report={report} />
        <p class="hint">
          {STEPS[report.step]} Drag across a chart to zoom in, double-click to zoom out. A dash and a gap mean
          that nothing is known. What was earned, and <a href={customersBy(report)}>customers by margin</a>,
          are on the page Margin.
        </p>
        <div class="charts">
          {report.charts.map((chart) => (
            <Chart key={chart.id} chart={chart} report={report} />
          ))}
        </div>
        <Operations report={report} />
      </Page>,
    );
  });
}

const STEPS = {
  hour: 'By hour in UTC, the present hour until now.',
  day: 'By day in UTC, today until now.',
  week: 'By week from Monday in UTC, the present week until now.',
} as const;

/** The address of the customers by margin in the days of a report. */
function customersBy({ from, to }: ActivityReport): string {
  const [first, last] = [from.slice(0, 10), to.slice(0, 10)];
  const earliest = addDays(last, 1 - MOST_DAYS);
  return addressOf('/admin/margin', { by: 'customer', from: first < earliest ? earliest : first, to: last });
}

function Ranges({ chosen }: { chosen: ActivityRange }): VNode {
  return (
    <nav class="segments" aria-label="Period">
      {Object.entries(ACTIVITY_RANGES).map(([range, [name]]) => (
        <a key={range} href={addressOf(PATH, { range })} aria-current={range === chosen ? 'true' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}

/** The series whose totals are shown first, by chart. */
const TOTALS: readonly (readonly [chart: ActivityChartId, series: string, name?: string])[] = [
  ['revenue', 'paid'],
  ['revenue', 'refunded'],
  ['customers', 'signUps'],
  ['customers', 'active'],
  ['conversion', 'conversion'],
  ['conversion', 'churn'],
  ['units', 'units', 'Units'],
  ['tokens', 'spent', 'Tokens'],
  ['hits', 'hitRate'],
  ['errors', 'errorRate'],
];

function Totals({ report }: { report: ActivityReport }): VNode {
  return (
    <dl class="totals amounts">
      {TOTALS.map(([id, seriesId, name]) => {
        const chart = report.charts.find((one) => one.id === id);
        const series = chart?.series.find((one) => one.id === seriesId);
        if (!chart || !series) return null;
        return (
          <div key={seriesId} class="card">
            <dt>{name ?? series.name}</dt>
            <dd class="figure">{textOf(chart.unit, report.currency, series.total)}</dd>
            {series.since !== null && <dd class="muted">since {series.since.slice(0, 10)}</dd>}
          </div>
        );
      })}
    </dl>
  );
}

function formatOf(unit: ActivityUnit, currency: string): Intl.NumberFormatOptions {
  if (unit === 'cents') return { style: 'currency', currency: currency.toUpperCase() };
  if (unit === 'count') return { maximumFractionDigits: 0 };
  return {
    style: 'unit',
    unit: unit === 'percent' ? 'percent' : 'second',
    unitDisplay: 'narrow',
    maximumFractionDigits: 2,
  };
}

const shownValue = (unit: ActivityUnit, value: number | null) =>
  value === null || unit !== 'cents' ? value : value / 100;

function textOf(unit: ActivityUnit, currency: string, value: number | null): string {
  return valueText(shownValue(unit, value), formatOf(unit, currency));
}

const SCALES = { cents: 'money', count: 'count', percent: 'percent', seconds: 'seconds' } as const;

function Chart({ chart, report }: { chart: ActivityChart; report: ActivityReport }): VNode {
  const { id, title, unit, source, formula, series } = chart;
  const { starts, step, from, to, currency } = report;
  const dayOf = (iso: string) => iso.slice(0, step === 'hour' ? 16 : 10).replace('T', ' ');
  const isKnown = series.some(({ values }) => values.some((value) => value !== null));
  const points = ({ values }: ActivitySeries) =>
    starts.map((start, i) => [Date.parse(start), shownValue(unit, values[i] ?? null)] as const);
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {isKnown ? (
        <TimeChart
          name={title}
          series={series.map((one) => ({
            name: one.name,
            scale: SCALES[unit],
            format: formatOf(unit, currency),
            shown: true,
            points: points(one),
          }))}
          ranges={[]}
          rows={step === 'hour' ? 'hours' : 'times'}
          isSmall
        />
      ) : (
        <p class="muted">Nothing is recorded of this time.</p>
      )}
      <p class="hint">{`Source: ${source}. From ${dayOf(from)} to ${dayOf(to)} UTC. Formula: ${formula}.`}</p>
    </section>
  );
}

function Operations({ report: { operations } }: { report: ActivityReport }): VNode {
  const shown = operations.slice(0, MOST_OPERATIONS);
  const number = (name: string, of: (row: OperationActivity) => string): Column<OperationActivity> => [
    name,
    of,
    'number',
  ];
  const percent = (value: number | null) => textOf('percent', '', value);
  return (
    <>
      <h2>By operation</h2>
      <Table
        name="By operation"
        empty="No calls in this time."
        rows={shown}
        columns={[
          ['Operation', ({ operation }) => <code>{operation}</code>, 'row'],
          number('Calls', ({ calls }) => count(calls)),
          number('Units', ({ unitsSold }) => count(unitsSold)),
          number('Tokens', ({ tokensSpent }) => amount(tokensSpent)),
          number('Hit rate', ({ hitPercent }) => percent(hitPercent)),
          number('Errors', ({ errorPercent }) => percent(errorPercent)),
          number('Jobs', ({ jobs }) => count(jobs)),
          number('p95', ({ p95Seconds }) => textOf('seconds', '', p95Seconds)),
        ]}
      />
      {operations.length > shown.length && (
        <p class="hint">{`The first ${MOST_OPERATIONS} of ${count(operations.length)} operations.`}</p>
      )}
      <p class="hint">
        Jobs are calls that a worker has run; the p95 of their run time is a bound that 95 % of them did not
        exceed. Calls answered from the cache have no job.
      </p>
    </>
  );
}
