import { max } from 'd3-array';
import { scaleLinear, scaleUtc } from 'd3-scale';
import { area, line } from 'd3-shape';
import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { type TokenReadingAt, tokenHistory } from '../../operator/account-facts.ts';
import { type OperationUsage, totalOf, usageByOperation } from '../../operator/usage-report.ts';
import { readAccounts, tokensOf } from '../../upstream/stored-accounts.ts';
import { Card } from '../kit/elements.tsx';
import { Choice, FilterForm } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { amount, count, share } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';

const DAY_MS = 86_400_000;

const PERIODS = [
  ['1', 'Last 24 hours'],
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
] as const;

const period = z.object({ days: z.enum(['1', '7', '30']).catch('1') });

/** Registers the page of the provider's tokens: current number, history, and spending by operation. */
export function registerUpstream(scope: FastifyInstance, pages: Pages): void {
  const { database, providers, clock } = pages;

  scope.get('/admin/upstream', async (request, reply) => {
    const { days } = period.parse(request.query);
    const now = clock.now();
    const [accounts, history, usage] = await Promise.all([
      readAccounts(pages, providers.products).catch(() => []),
      tokenHistory(database, providers.products, now - DAY_MS),
      usageByOperation(database, { from: now - Number(days) * DAY_MS, to: now }),
    ]);
    return sendPage(
      reply,
      <Page title="Upstream" wide>
        <div id="upstream" data-refresh="30">
          <div class="split">
            <Card title="Tokens now">
              <TokenGauge tokens={tokensOf(accounts)} />
              <a href="/admin/provider-accounts">
                {accounts.length === 1 ? '1 account' : `${count(accounts.length)} accounts`}
              </a>
            </Card>
            <Card title="Tokens in the last 24 hours">
              <TokenChart readings={history} from={now - DAY_MS} to={now} />
            </Card>
          </div>
        </div>
        <h2>Spending by operation</h2>
        <FilterForm path="/admin/upstream" values={{ days }} button="Show">
          <Choice name="days" label="Period" options={PERIODS} />
        </FilterForm>
        <SpendTable usage={usage} />
        <p class="hint">
          Sums over all processes by hour, updated every few seconds. If a process stops suddenly, the figures
          lack its last five seconds; only the ledger is exact. Saved tokens are the tokens that cached data
          cost when it was fetched. The page <a href="/admin/margin">Margin</a> shows the cost in money.
        </p>
      </Page>,
    );
  });
}

function SpendTable({ usage }: { usage: readonly OperationUsage[] }): VNode {
  const all = { operation: 'All', ...totalOf(usage) };
  return (
    <Table
      name="Spending by operation"
      empty="No calls in this period."
      rows={[...usage, ...(usage.length > 1 ? [all] : [])]}
      columns={[
        [
          'Operation',
          ({ operation }) => (operation === 'All' ? <strong>All</strong> : <code>{operation}</code>),
        ],
        ['Calls', ({ calls }) => count(calls), 'number'],
        ['Units sold', ({ unitsSold }) => count(unitsSold), 'number'],
        ['Tokens spent', ({ tokensSpent }) => amount(tokensSpent), 'number'],
        [
          'Units per token',
          ({ unitsSold, tokensSpent }) => (tokensSpent > 0 ? amount(unitsSold / tokensSpent) : '-'),
          'number',
        ],
        ['Saved by cache', ({ tokensSaved }) => amount(tokensSaved), 'number'],
        [
          'Saved share',
          ({ tokensSaved, tokensSpent }) => share(tokensSaved, tokensSaved + tokensSpent),
          'number',
        ],
      ]}
    />
  );
}

/** Unused tokens expire after an hour, which limits their number. */
const CAPACITY_MINUTES = 60;

/** The provider's tokens that are left, and their maximum. */
export function TokenGauge({ tokens }: { tokens: { left: number; perMinute: number } | null }): VNode {
  if (!tokens) return <p class="muted">Unknown: no worker has contacted the provider yet.</p>;
  const { left, perMinute } = tokens;
  const capacity = perMinute * CAPACITY_MINUTES;
  return (
    <div class="meter">
      <p>
        <span class="figure">{amount(left)}</span> <small>{`left of ${amount(capacity)}`}</small>
      </p>
      {capacity > 0 && (
        <meter
          min={0}
          max={capacity}
          low={capacity * 0.1}
          high={capacity * 0.3}
          optimum={capacity}
          value={Math.min(capacity, Math.max(0, left))}
          aria-label={`${amount(left)} of ${amount(capacity)} tokens left`}
        />
      )}
      <small>{`${amount(perMinute)} more per minute`}</small>
    </div>
  );
}

/** In SVG units. Narrow screens get a narrow drawing, so that text keeps its size. */
const SIZES = {
  'token-chart-broad': { width: 720, height: 220, times: 6 },
  'token-chart-narrow': { width: 340, height: 200, times: 4 },
} as const;

const MARGIN = { top: 14, right: 8, bottom: 26, left: 50 };

/** Readings further apart than this are not connected. */
const GAP_MS = 10 * 60_000;

/** A day has more readings than a screen can show. */
const MAX_POINTS = 300;

interface ChartPeriod {
  /** Unix milliseconds. */
  from: number;
  to: number;
}

/** A chart of the tokens left over time. */
function TokenChart({ readings, ...period }: ChartPeriod & { readings: readonly TokenReadingAt[] }): VNode {
  if (readings.length < 2) return <p class="muted">No readings yet. Workers record one per minute.</p>;
  return (
    <>
      {(['token-chart-broad', 'token-chart-narrow'] as const).map((size) => (
        <Drawing key={size} size={size} readings={readings} period={period} />
      ))}
    </>
  );
}

function Drawing(props: {
  size: keyof typeof SIZES;
  readings: readonly TokenReadingAt[];
  period: ChartPeriod;
}): VNode {
  const { size, readings, period } = props;
  const { width, height, times } = SIZES[size];
  const bottom = height - MARGIN.bottom;
  const x = scaleUtc([period.from, period.to], [MARGIN.left, width - MARGIN.right]);
  const highest = max(readings, ({ left }) => left) ?? 0;
  const y = scaleLinear([0, Math.max(highest, 1)], [bottom, MARGIN.top]).nice(4);
  const points = withGaps(thinned(readings));
  const isKnown = (point: TokenReadingAt | null) => point !== null;
  const across = (point: TokenReadingAt | null) => x(point?.at ?? 0);
  const up = (point: TokenReadingAt | null) => y(Math.max(0, point?.left ?? 0));
  const curve = line(across, up).defined(isKnown).digits(1);
  const ground = area(across, bottom, up).defined(isKnown).digits(1);
  const time = x.tickFormat(times, '%H:%M');
  return (
    <div class={`chart ${size}`}>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={describe(readings)}>
        {y.ticks(4).map((tick) => (
          <g key={tick} transform={`translate(0 ${y(tick)})`}>
            <line class="token-rule" x1={MARGIN.left} x2={width - MARGIN.right} />
            <text x={MARGIN.left - 8} dy="0.32em" text-anchor="end">
              {amount(tick)}
            </text>
          </g>
        ))}
        {x.ticks(times).map((tick) => (
          <text key={Number(tick)} x={x(tick)} y={height - 8} text-anchor="middle">
            {time(tick)}
          </text>
        ))}
        <path class="token-area" d={ground(points) ?? ''} />
        <path class="token-line" d={curve(points) ?? ''} />
      </svg>
    </div>
  );
}

/** Selects evenly spaced readings, including the newest. */
function thinned(readings: readonly TokenReadingAt[]): TokenReadingAt[] {
  const every = Math.ceil(readings.length / MAX_POINTS);
  return readings.filter((_, i) => (readings.length - 1 - i) % every === 0);
}

function withGaps(readings: readonly TokenReadingAt[]): (TokenReadingAt | null)[] {
  return readings.flatMap((point, i) => {
    const before = readings[i - 1];
    const isGap = before !== undefined && point.at.getTime() - before.at.getTime() > GAP_MS;
    return isGap ? [null, point] : [point];
  });
}

function describe(readings: readonly TokenReadingAt[]): string {
  const all = readings.map(({ left }) => left);
  return `Tokens left in the last 24 hours, in UTC: from ${amount(Math.min(...all))} to ${amount(Math.max(...all))}, now ${amount(all.at(-1) ?? 0)}.`;
}
