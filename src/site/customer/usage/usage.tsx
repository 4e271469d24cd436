import { group, sum } from 'd3-array';
import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { type DailyUse, dailyUse } from '../../../billing/statement.ts';
import { readValues } from '../../kit/form-request.ts';
import { Page } from '../../kit/layout.tsx';
import { addressOf } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { count } from '../../kit/words.tsx';
import type { Pages } from '../../pages.ts';
import { customerOf } from '../../session.ts';
import { UsageChart } from './usage-chart.tsx';
import { firstDayAt, type Measure, type UsageDay, type UsageSeries, usageSeries } from './usage-series.ts';

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
export function registerUsage(scope: FastifyInstance, { database, clock }: Pages): void {
  scope.get(PATH, async (request, reply) => {
    const chosen = choices.parse(readValues(request.query));
    const now = clock.now();
    const days = Number(chosen.days);
    // Includes a call that was accepted in this millisecond.
    const period = { from: firstDayAt(now, days), to: now + 1 };
    const rows = await dailyUse(database, customerOf(request).accountId, period);
    return sendPage(
      reply,
      <Page title="Usage" styles={['account.css']}>
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
          <NoUse days={days} />
        ) : (
          <Use
            rows={rows}
            series={usageSeries(rows, { days, now, measure: chosen.measure })}
            chosen={chosen}
          />
        )}
        <p class="hint">
          Days are in UTC. A call counts on the day it was accepted. Calls in progress have not been charged
          yet. The <a href="/account/ledger">ledger</a> lists every charge.
        </p>
      </Page>,
    );
  });
}

function NoUse({ days }: { days: number }): VNode {
  return (
    <div class="card empty">
      <p>No calls in the last {days} days.</p>
      <a class="button primary" href="/account/try">
        Try a call
      </a>
    </div>
  );
}

function Use(props: { rows: readonly DailyUse[]; series: UsageSeries; chosen: Choices }): VNode {
  const { rows, series, chosen } = props;
  return (
    <>
      <Totals series={series} />
      <section class="card" aria-label="By day and operation">
        <UsageChart series={series} measure={chosen.measure} />
      </section>
      <Operations rows={rows} />
      <Days series={series} measure={chosen.measure} />
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
  return (
    <nav class="segments" aria-label={name}>
      {options.map(([value, text]) => (
        <a
          key={value}
          href={addressOf(PATH, { ...chosen, [field]: value })}
          aria-current={chosen[field] === value ? 'true' : undefined}
        >
          {text}
        </a>
      ))}
    </nav>
  );
}

function Totals({ series: { days } }: { series: UsageSeries }): VNode {
  const busiest = days.reduce((a, b) => (b.units > a.units ? b : a));
  const today = days.at(-1);
  return (
    <dl class="totals">
      <Total name="Units" value={count(sum(days, ({ units }) => units))} />
      <Total name="Calls" value={count(sum(days, ({ calls }) => calls))} />
      <Total name="Units today" value={count(today?.units ?? 0)} />
      <Total name={`Busiest day, ${busiest.day}`} value={count(busiest.units)} />
    </dl>
  );
}

function Total({ name, value }: { name: string; value: string }): VNode {
  return (
    <div class="card">
      <dt>{name}</dt>
      <dd class="figure">{value}</dd>
    </div>
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
