import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { tokenHistory } from '../../operator/token-history.ts';
import { lossesIn, type OperationUsage, totalOf, usageByOperation } from '../../operator/usage-report.ts';
import { readTokens } from '../../upstream/token-bucket.ts';
import { Choice, FilterForm } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { amount, count, share } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { LossNotice } from './loss-notice.tsx';
import { TokenChart } from './token-chart.tsx';
import { TokenGauge } from './token-gauge.tsx';

const DAY_MS = 86_400_000;

const PERIODS = [
  ['1', 'Last 24 hours'],
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
] as const;

const period = z.object({ days: z.enum(['1', '7', '30']).catch('1') });

/** Registers the page of the provider's tokens: current number, history, and spending by operation. */
export function registerUpstream(scope: FastifyInstance, pages: Pages): void {
  const { database, redis, keys, providers, clock, tokenPrice, currency } = pages;

  scope.get('/admin/upstream', async (request, reply) => {
    const { days } = period.parse(request.query);
    const now = clock.now();
    const [tokens, history, usage] = await Promise.all([
      readTokens(redis, keys.tokens(providers.products), now).catch(() => null),
      tokenHistory(database, providers.products, now - DAY_MS),
      usageByOperation(database, { from: now - Number(days) * DAY_MS, to: now }),
    ]);
    const losses = await lossesIn(database, usage, { tokenPrice, currency, now });
    return sendPage(
      reply,
      <Page title="Upstream" wide>
        <h1>Upstream</h1>
        <div id="upstream" data-refresh="30">
          <div class="split">
            <section class="card">
              <h2>Tokens now</h2>
              <TokenGauge tokens={tokens} />
            </section>
            <section class="card">
              <h2>Tokens in the last 24 hours</h2>
              <TokenChart readings={history} from={now - DAY_MS} to={now} />
            </section>
          </div>
        </div>
        <h2>Spending by operation</h2>
        <FilterForm path="/admin/upstream" values={{ days }} button="Show">
          <Choice name="days" label="Period" options={PERIODS} />
        </FilterForm>
        <LossNotice losses={losses} currency={currency} />
        <SpendTable usage={usage} />
        <p class="hint">
          Sums over all processes by hour, updated every few seconds. A process that dies loses its last five
          seconds; only the ledger is exact. Saved tokens are the tokens that cached data cost when it was
          fetched.
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
        ['Tokens saved', ({ tokensSaved }) => amount(tokensSaved), 'number'],
        [
          'Saved share',
          ({ tokensSaved, tokensSpent }) => share(tokensSaved, tokensSaved + tokensSpent),
          'number',
        ],
      ]}
    />
  );
}
