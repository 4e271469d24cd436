import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { operationFigures, tokenCourse, totalOf } from '../../operator/figures.ts';
import { readTokens } from '../../upstream/token-bucket.ts';
import { Choice } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.ts';
import { count } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { viewerOf } from '../session.ts';
import { DataTable } from './data-table.tsx';
import { amount, share } from './figures.ts';
import { TokenChart } from './token-chart.tsx';
import { TokenGauge } from './token-gauge.tsx';

const DAY_MS = 86_400_000;

const PERIODS = [
  ['1', 'the last 24 hours'],
  ['7', 'the last 7 days'],
  ['30', 'the last 30 days'],
] as const;

const period = z.object({ days: z.enum(['1', '7', '30']).catch('1') });

/** The provider's tokens: how many there are and were, and what they went into. */
export function registerUpstream(scope: FastifyInstance, { gateway }: Pages): void {
  const { database, redis, keys, clock } = gateway;

  scope.get('/admin/upstream', async (request, reply) => {
    const { days } = period.parse(request.query);
    const now = clock.now();
    const [tokens, course, figures] = await Promise.all([
      readTokens(redis, keys.tokens('keepa'), now).catch(() => null),
      tokenCourse(database, now - DAY_MS),
      operationFigures(database, { from: now - Number(days) * DAY_MS, to: now }),
    ]);
    const total = totalOf(figures);
    const rows = [...figures, ...(figures.length > 1 ? [{ operation: 'All', ...total }] : [])];
    return sendPage(
      reply,
      <Page title="Upstream" viewer={viewerOf(request, reply)} path="/admin/upstream" wide>
        <h1>Upstream</h1>
        <div id="upstream" data-refresh="30">
          <div class="split">
            <section class="card">
              <h2>Tokens now</h2>
              <TokenGauge tokens={tokens} />
            </section>
            <section class="card">
              <h2>Tokens of the last 24 hours</h2>
              <TokenChart course={course} from={now - DAY_MS} to={now} />
            </section>
          </div>
        </div>
        <h2>Spend by operation</h2>
        <form class="filters" method="get" action="/admin/upstream">
          <Choice name="days" label="Period" options={PERIODS} value={days} />
          <button type="submit">Show</button>
        </form>
        <DataTable
          label="Spend by operation"
          empty="No call was answered in this period."
          columns={[
            'Operation',
            '#Calls',
            '#Units sold',
            '#Tokens spent',
            '#Units a token',
            '#Tokens saved',
            '#Saved share',
          ]}
          rows={rows.map(({ operation, calls, unitsSold, tokensSpent, tokensSaved }) => [
            operation === 'All' ? <strong>All</strong> : <code>{operation}</code>,
            count(calls),
            count(unitsSold),
            amount(tokensSpent),
            tokensSpent > 0 ? amount(unitsSold / tokensSpent) : '-',
            amount(tokensSaved),
            share(tokensSaved, tokensSaved + tokensSpent),
          ])}
        />
        <p class="hint">
          Summed over all processes, to the last few seconds, by whole hours. A process that dies takes its
          last five seconds along; the units of the ledger are exact. What tokens were saved is told by what
          the data had cost when it was fetched.
        </p>
      </Page>,
    );
  });
}
