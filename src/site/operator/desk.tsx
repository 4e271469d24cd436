import type { FastifyInstance } from 'fastify';
import type { ComponentChildren, VNode } from 'preact';
import type { PoolReading, QueueReading } from '../../../jobs/queue-gauges.ts';
import { failedCalls } from '../../operator/failure-search.ts';
import {
  type OperationFigures,
  OUR_FAILURES,
  openMatters,
  operationFigures,
  totalOf,
} from '../../operator/figures.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.ts';
import { count } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { viewerOf } from '../session.ts';
import { DataTable } from './data-table.tsx';
import { FailedCallTable } from './failed-calls.tsx';
import { amount, share } from './figures.ts';
import { TokenGauge } from './token-gauge.tsx';

const DAY_MS = 86_400_000;

/** Everything at a glance. */
export function registerDeskPage(scope: FastifyInstance, { gateway }: Pages): void {
  const { database, clock, queueGauges, log } = gateway;

  scope.get('/admin', async (request, reply) => {
    const now = clock.now();
    const [reading, matters, figures, failed] = await Promise.all([
      queueGauges.read().catch((error: unknown): QueueReading | null => {
        log.warn({ err: error }, 'reading the queues for the desk failed');
        return null;
      }),
      openMatters(database, now),
      operationFigures(database, { from: now - DAY_MS, to: now }),
      failedCalls(database, { kinds: OUR_FAILURES, limit: 8 }),
    ]);
    const { openCalls, openBatchCalls, pendingOrders } = matters;
    return sendPage(
      reply,
      <Page title="Desk" viewer={viewerOf(request, reply)} path="/admin" wide>
        <h1>Desk</h1>
        <div id="desk" data-refresh="10">
          {pendingOrders > 0 && (
            <div class="notice warn">
              <p>
                <a href="/admin/orders">
                  {pendingOrders === 1
                    ? 'One order waits for payment'
                    : `${count(pendingOrders)} orders wait for payment`}
                </a>
                .
              </p>
            </div>
          )}
          <div class="grid tiles">
            <section class="card">
              <h2>Upstream tokens</h2>
              <TokenGauge tokens={reading?.tokens ?? null} />
              <a href="/admin/upstream">Course and spend</a>
            </section>
            <UnitsAndTokens figures={figures} />
            <Tile
              title="Open calls"
              figure={count(openCalls)}
              note={`under way, ${count(openBatchCalls)} of them of batches`}
            >
              <a href="/admin/queues">Queues</a>
            </Tile>
            <Tile
              title="Failures"
              figure={count(matters.failedCalls)}
              note="calls of the last day that failed through us or the provider"
            >
              <a href="/admin/errors">Errors</a>
            </Tile>
            <Tile title="Orders" figure={count(pendingOrders)} note="that wait for payment">
              <a href="/admin/orders">Orders</a>
            </Tile>
          </div>
          <h2>Queues and workers</h2>
          {reading ? (
            <Pools pools={reading.pools} />
          ) : (
            <p class="notice bad">The queues cannot be read just now.</p>
          )}
          <h2>Recent failures</h2>
          <FailedCallTable calls={failed} />
        </div>
      </Page>,
    );
  });
}

function UnitsAndTokens({ figures }: { figures: readonly OperationFigures[] }): VNode {
  const { calls, unitsSold, tokensSpent, tokensSaved } = totalOf(figures);
  return (
    <>
      <Tile title="Units sold" figure={count(unitsSold)} note={`in 24 hours, by ${count(calls)} calls`}>
        <span class="muted">
          {tokensSpent > 0
            ? `${amount(unitsSold / tokensSpent)} for each of ${amount(tokensSpent)} tokens spent`
            : 'No tokens were spent.'}
        </span>
      </Tile>
      <Tile title="Saved by the cache" figure={amount(tokensSaved)} note="tokens in 24 hours">
        <span class="muted">{`${share(tokensSaved, tokensSaved + tokensSpent)} of what was needed`}</span>
      </Tile>
    </>
  );
}

function Tile({
  title,
  figure,
  note,
  children,
}: {
  title: string;
  figure: string;
  note: string;
  children: ComponentChildren;
}): VNode {
  return (
    <section class="card">
      <h2>{title}</h2>
      <p>
        <span class="figure">{figure}</span> <small>{note}</small>
      </p>
      {children}
    </section>
  );
}

function Pools({ pools }: { pools: readonly PoolReading[] }): VNode {
  return (
    <DataTable
      label="Queues by pool"
      empty="There are no pools."
      columns={['Pool', '#Waiting', '#Running', '#Delayed', '#A new call waits', 'Workers']}
      rows={pools.map(({ pool, jobs, expectedWaitMs, workers }) => [
        <code>{pool}</code>,
        count(jobs.waiting),
        count(jobs.running),
        count(jobs.delayed),
        waitOf(expectedWaitMs),
        workers === null ? (
          <span class="muted">not counted</span>
        ) : (
          <span class={workers > 0 ? 'tag good' : 'tag bad'}>
            {workers > 0 ? `${count(workers)} alive` : 'none'}
          </span>
        ),
      ])}
    />
  );
}

function waitOf(ms: number | null): string {
  if (ms === null) return '-';
  if (!Number.isFinite(ms)) return 'for a worker';
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${count(Math.round(ms / 1_000))} s`;
}
