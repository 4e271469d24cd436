import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { TABLE_FORMAT_NAMES, type TableFormat } from '../../operations/tables/formats.ts';
import {
  MARGIN_COLUMNS,
  MARGIN_GROUPS,
  type MarginGroup,
  type MarginQuery,
  type MarginRow,
  marginFields,
} from '../../operator/margin/margin.ts';
import { type MarginReport, readMargin } from '../../operator/margin/read-margin.ts';
import { writeTable } from '../../results/tables/write-table.ts';
import { Notice, SmallLink } from '../kit/elements.tsx';
import { Choice, Field, FilterForm } from '../kit/form.tsx';
import { readForm, requireFilter } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { addressOf } from '../kit/list-page.tsx';
import { sendFile, sendPage } from '../kit/render.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { CHART_FILES, TimeChart } from '../kit/time-chart.tsx';
import { amount, count, money } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';

const PATH = '/admin/margin';

/** Rows that the page shows; the files have all. */
const MOST_ROWS = 500;

/** Registers the page of revenue, cost and margin, and its files. */
export function registerMargin(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, currency, tokenPrice } = pages;
  const read = (query: MarginQuery) =>
    readMargin(database, query, { currency, tokenPrice, now: clock.now() });

  scope.get(PATH, async (request, reply) => {
    const form = readForm(marginFields(clock.now()), request.query);
    const report = form.ok ? await read(form.input) : null;
    return sendPage(
      reply,
      <Page
        title="Margin"
        styles={['account.css', ...CHART_FILES.styles]}
        libraries={CHART_FILES.libraries}
        scripts={CHART_FILES.scripts}
        wide
      >
        <FilterForm
          path={PATH}
          values={{ ...form.values, ...(form.ok && { ...form.input }) }}
          faults={form.faults}
          button="Show"
        >
          <Field name="from" label="From" type="date" />
          <Field name="to" label="To" type="date" />
          <Choice name="by" label="Group by" options={Object.entries(MARGIN_GROUPS)} />
        </FilterForm>
        {report && <Report report={report} />}
      </Page>,
      form.ok ? 200 : 400,
    );
  });

  scope.get(`${PATH}.:format(^(?:${TABLE_FORMAT_NAMES.join('|')})$)`, async (request, reply) => {
    const { format } = request.params as { format: TableFormat };
    const { rows, from, to, by } = await read(requireFilter(marginFields(clock.now()), request.query));
    const table = { name: 'margin', columns: MARGIN_COLUMNS };
    return sendFile(
      reply,
      { name: `souk-margin-${by}-${from}-${to}`, type: format },
      writeTable(format, table, rows),
    );
  });
}

function Report({ report }: { report: MarginReport }): VNode {
  const { from, to, by, rows, currency, tokenPrice } = report;
  // Days in their order, everything else by what it brings.
  const shown = by === 'day' ? rows.toReversed() : rows.toSorted((a, b) => b.marginCents - a.marginCents);
  return (
    <>
      {tokenPrice === null && (
        <Notice tone="warn">
          Tokens are counted without their cost: <code>UPSTREAM_TOKEN_PRICE</code> is not set.
        </Notice>
      )}
      <Totals report={report} />
      {by === 'day' && rows.length > 1 && <DayChart rows={rows} currency={currency} />}
      <Table
        name={`By ${MARGIN_GROUPS[by].toLowerCase()}`}
        empty="Nothing in these days."
        rows={shown.slice(0, MOST_ROWS)}
        columns={columnsOf(by, currency)}
      />
      {shown.length > MOST_ROWS && (
        <p class="hint">{`The first ${MOST_ROWS} of ${count(shown.length)} rows.`}</p>
      )}
      <p class="row">
        Download:
        {TABLE_FORMAT_NAMES.map((format) => (
          <SmallLink key={format} to={addressOf(`${PATH}.${format}`, { from, to, by })} download>
            {format.toUpperCase()}
          </SmallLink>
        ))}
      </p>
      <p class="hint">
        Days are in UTC. Units count on the day on which their call was charged. Each used unit earns its
        share of the price of its pack or month. The price of unused units is deferred until the pack or month
        ends, and is earned on that day. Refunds reduce revenue on their day.
        {(by === 'plan' || by === 'key') &&
          ' Tokens are counted by account and operation, and divided here in proportion to units.'}
      </p>
    </>
  );
}

function Totals({ report: { totals, currency } }: { report: MarginReport }): VNode {
  const tokensSaved = totals.tokensSavedByCache + totals.tokensSavedByMerging + totals.tokensSavedByJoining;
  const figures: [name: string, figure: string, note: string][] = [
    ['Margin', money(totals.marginCents, currency), 'revenue less the cost of tokens'],
    [
      'Revenue earned',
      money(totals.revenueCents, currency),
      `${money(totals.unusedCents, currency)} of it from unused units`,
    ],
    ['Paid', money(totals.paidCents, currency), `${money(totals.refundedCents, currency)} refunded`],
    [
      'Deferred',
      money(totals.deferredCents, currency),
      `${money(totals.deferredBeforeCents, currency)} before`,
    ],
    ['Units sold', count(totals.units), ''],
    ['Tokens', amount(totals.tokens), money(totals.costCents, currency)],
    ['Tokens saved', amount(tokensSaved), money(totals.savedCents, currency)],
  ];
  return (
    <dl class="totals amounts">
      {figures.map(([name, figure, note]) => (
        <div key={name} class="card">
          <dt>{name}</dt>
          <dd class="figure">{figure}</dd>
          <dd class="muted">{note}</dd>
        </div>
      ))}
    </dl>
  );
}

function DayChart({ rows, currency }: { rows: readonly MarginRow[]; currency: string }): VNode {
  const format = { style: 'currency', currency: currency.toUpperCase() } as const;
  const series = (name: string, cents: (row: MarginRow) => number) => ({
    name,
    scale: 'money' as const,
    format,
    shown: true,
    points: rows.map((row) => [Date.parse(row.group), cents(row) / 100] as const),
  });
  return (
    <TimeChart
      name="Revenue, cost and margin by day"
      series={[
        series('Revenue', (row) => row.revenueCents),
        series('Cost of tokens', (row) => row.costCents),
        series('Margin', (row) => row.marginCents),
        { ...series('Saved', (row) => row.savedCents), shown: false },
      ]}
      ranges={rows.length > 30 ? [[30, '30 days']] : []}
      rows="times"
    />
  );
}

function columnsOf(by: MarginGroup, currency: string): Column<MarginRow>[] {
  const cents = (name: string, of: (row: MarginRow) => number): Column<MarginRow> => [
    name,
    (row) => money(of(row), currency),
    'number',
  ];
  return [
    [MARGIN_GROUPS[by], (row) => <Name by={by} row={row} />, 'row'],
    ['Units', ({ units }) => count(units), 'number'],
    cents('Revenue', (row) => row.revenueCents),
    cents('Cost', (row) => row.costCents),
    cents('Margin', (row) => row.marginCents),
    cents('From unused units', (row) => row.unusedCents),
    ['Tokens', ({ tokens }) => amount(tokens), 'number'],
    ['Saved by cache', (row) => amount(row.tokensSavedByCache), 'number'],
    ['By merging', (row) => amount(row.tokensSavedByMerging), 'number'],
    ['By joining', (row) => amount(row.tokensSavedByJoining), 'number'],
    cents('Saved', (row) => row.savedCents),
  ];
}

function Name({ by, row: { group, name } }: { by: MarginGroup; row: MarginRow }): VNode {
  if (by === 'customer' && /^\d+$/.test(group)) return <a href={`/admin/accounts/${group}`}>{name}</a>;
  return by === 'operation' ? <code>{name}</code> : <span>{name}</span>;
}
