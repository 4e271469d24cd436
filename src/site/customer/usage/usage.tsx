import { sum } from 'd3-array';
import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { dailyUse } from '../../../billing/statement.ts';
import { readForm } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { addressOf } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.ts';
import { Table } from '../../kit/table.tsx';
import { count } from '../../kit/words.tsx';
import type { Pages } from '../../pages.ts';
import { customerOf, viewerOf } from '../../session.ts';
import { UsageChart } from './usage-chart.tsx';
import { firstDayAt, type Measure, type UsageSeries, usageSeries } from './usage-series.ts';

const PATH = '/account/usage';

const PERIODS = ['7', '30', '90'] as const;

/** Whatever else stands in the address shows what most want to see. */
const choices = z.object({
  days: z.enum(PERIODS).catch('30'),
  measure: z.enum(['units', 'calls']).catch('units'),
});

type Choices = z.output<typeof choices>;

/** What the account has used, by day and operation. */
export function registerUsage(scope: FastifyInstance, { gateway }: Pages): void {
  const { database, clock } = gateway;

  scope.get(PATH, async (request, reply) => {
    const form = readForm(choices, request.query);
    const chosen: Choices = form.ok ? form.input : { days: '30', measure: 'units' };
    const now = clock.now();
    const days = Number(chosen.days);
    // A call that was accepted in this very moment counts.
    const period = { from: firstDayAt(now, days), to: now + 1 };
    const rows = await dailyUse(database, customerOf(request).accountId, period);
    const series = usageSeries(rows, { days, now, measure: chosen.measure });
    return sendPage(
      reply,
      <Page title="Usage" viewer={viewerOf(request, reply)} path={PATH} styles={['account.css']}>
        <div class="row">
          <h1>Usage</h1>
          <div class="row push">
            <Choose
              name="What is counted"
              chosen={chosen}
              field="measure"
              options={[
                ['units', 'Units'],
                ['calls', 'Calls'],
              ]}
            />
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
            <p>Nothing was called in these {days} days.</p>
            <a class="button primary" href="/account/try">
              Try a call
            </a>
          </div>
        ) : (
          <>
            <Totals series={series} />
            <section class="card" aria-label="By day and operation">
              <UsageChart series={series} measure={chosen.measure} />
            </section>
            <Operations rows={rows} />
            <Days series={series} measure={chosen.measure} />
          </>
        )}
        <p class="hint">
          Days are those of UTC. A call counts on the day it was accepted; what is still under way has not
          been charged yet. Line by line it is in the <a href="/account/ledger">ledger</a>.
        </p>
      </Page>,
    );
  });
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

function Operations({
  rows,
}: {
  rows: readonly { operation: string; calls: number; units: number }[];
}): VNode {
  const byOperation = new Map<string, { calls: number; units: number }>();
  for (const { operation, calls, units } of rows) {
    const total = byOperation.get(operation) ?? { calls: 0, units: 0 };
    byOperation.set(operation, { calls: total.calls + calls, units: total.units + units });
  }
  const sorted = [...byOperation].sort(([, a], [, b]) => b.units - a.units || b.calls - a.calls);
  return (
    <Table name="By operation" columns={['Operation', '#Calls', '#Units']}>
      {sorted.map(([operation, { calls, units }]) => (
        <tr key={operation}>
          <th scope="row">
            <a href={addressOf('/account/ledger', { operation })}>{operation}</a>
          </th>
          <td class="number">{count(calls)}</td>
          <td class="number">{count(units)}</td>
        </tr>
      ))}
    </Table>
  );
}

/** The chart as a table. Days without a call are left out. */
function Days({ series: { names, days }, measure }: { series: UsageSeries; measure: Measure }): VNode {
  return (
    <details>
      <summary>The chart as a table</summary>
      <Table
        name={`${measure} by day and operation`}
        columns={['Day', ...names.map((name) => `#${name}`), '#Together']}
      >
        {days
          .filter(({ calls }) => calls > 0)
          .map((day) => (
            <tr key={day.day}>
              <th scope="row">{day.day}</th>
              {names.map((name) => (
                <td key={name} class="number">
                  {count(day.bySeries[name] ?? 0)}
                </td>
              ))}
              <td class="number">{count(day[measure])}</td>
            </tr>
          ))}
      </Table>
    </details>
  );
}
