import type { FastifyInstance } from 'fastify';
import type { ComponentChildren, VNode } from 'preact';
import type { PoolReading, QueueReading } from '../../../jobs/queue-gauges.ts';
import { OUR_FAILURES, readOpenWork } from '../../operator/account-facts.ts';
import { listAlerts } from '../../operator/alerts/watch.ts';
import { failedCalls } from '../../operator/failure-search.ts';
import { type OperationUsage, totalOf, usageByOperation } from '../../operator/usage-report.ts';
import { tokensOf } from '../../upstream/stored-accounts.ts';
import { Card, Notice, Tag } from '../kit/elements.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { tableOf } from '../kit/table.tsx';
import { amount, count, share } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { AlertNotice } from './alerts.tsx';
import { FailedCallTable } from './errors.tsx';
import { TokenGauge } from './upstream.tsx';

const DAY_MS = 86_400_000;

/** Registers the front page of the operator console. */
export function registerConsole(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;

  scope.get('/admin', async (_request, reply) => {
    const now = clock.now();
    const [reading, work, usage, failed, alerts] = await Promise.all([
      readQueues(pages),
      readOpenWork(database, now),
      usageByOperation(database, { from: now - DAY_MS, to: now }),
      failedCalls(database, { kinds: OUR_FAILURES, since: now - DAY_MS, limit: 8 }),
      listAlerts(database, now),
    ]);
    return sendPage(
      reply,
      <Page title="Operator console" wide>
        <div id="console" data-refresh="10">
          <AlertNotice alerts={alerts} now={now} />
          <PendingPurchases pending={work.pendingPurchases} />
          <div class="grid tiles">
            <Card title="Upstream tokens">
              <TokenGauge tokens={tokensOf(reading?.accounts ?? [])} />
              <a href="/admin/upstream">History and spending</a>
            </Card>
            <UnitsAndTokens usage={usage} />
            <OpenWorkTiles work={work} />
          </div>
          <h2>Queues and workers</h2>
          {reading ? (
            <Pools rows={reading.pools} />
          ) : (
            <p class="notice bad">The queues are temporarily unavailable.</p>
          )}
          <h2>Failures of the last day</h2>
          <FailedCallTable rows={failed} />
        </div>
      </Page>,
    );
  });
}

/** @returns null if Redis is unavailable. */
async function readQueues({ queueGauges, log }: Pages): Promise<QueueReading | null> {
  return queueGauges.read().catch((error: unknown) => {
    log.warn({ err: error }, 'failed to read the queues for the operator console');
    return null;
  });
}

function PendingPurchases({ pending }: { pending: number }): VNode | null {
  if (pending === 0) return null;
  return (
    <Notice tone="warn">
      <a href="/admin/orders">
        {pending === 1
          ? '1 purchase is awaiting payment'
          : `${count(pending)} purchases are awaiting payment`}
      </a>
      .
    </Notice>
  );
}

function OpenWorkTiles({ work }: { work: Awaited<ReturnType<typeof readOpenWork>> }): VNode {
  const { openCalls, openBatchCalls, failedCalls, pendingPurchases } = work;
  return (
    <>
      <Tile
        title="Open calls"
        figure={count(openCalls)}
        note={`in progress, ${count(openBatchCalls)} of them from batches`}
      >
        <a href="/admin/queues">Queues</a>
      </Tile>
      <Tile
        title="Failures"
        figure={count(failedCalls)}
        note="calls of the last day that failed on our side or upstream"
      >
        <a href="/admin/errors">Errors</a>
      </Tile>
      <Tile title="Purchases" figure={count(pendingPurchases)} note="awaiting payment">
        <a href="/admin/orders">Purchases</a>
      </Tile>
    </>
  );
}

function UnitsAndTokens({ usage }: { usage: readonly OperationUsage[] }): VNode {
  const { calls, unitsSold, tokensSpent, tokensSaved } = totalOf(usage);
  return (
    <>
      <Tile title="Units sold" figure={count(unitsSold)} note={`in 24 hours, in ${count(calls)} calls`}>
        <span class="muted">
          {tokensSpent > 0
            ? `${amount(tokensSpent)} tokens spent; units sold for each token: ${amount(unitsSold / tokensSpent)}`
            : 'No tokens spent'}
        </span>
      </Tile>
      <Tile title="Saved by the cache" figure={amount(tokensSaved)} note="tokens in 24 hours">
        <span class="muted">{`${share(tokensSaved, tokensSaved + tokensSpent)} of the tokens needed`}</span>
      </Tile>
    </>
  );
}

function Tile(props: { title: string; figure: string; note: string; children: ComponentChildren }): VNode {
  return (
    <Card>
      <h2>{props.title}</h2>
      <p>
        <span class="figure">{props.figure}</span> <small>{props.note}</small>
      </p>
      {props.children}
    </Card>
  );
}

const Pools = tableOf<PoolReading>('Queues by pool', 'No pools.', [
  ['Pool', ({ pool }) => <code>{pool}</code>],
  ['Waiting', ({ jobs }) => count(jobs.waiting), 'number'],
  ['Running', ({ jobs }) => count(jobs.running), 'number'],
  ['Delayed', ({ jobs }) => count(jobs.delayed), 'number'],
  ['Expected wait', ({ expectedWaitMs }) => waitOf(expectedWaitMs), 'number'],
  ['Workers', ({ workers }) => <WorkersTag workers={workers} />],
]);

function WorkersTag({ workers }: { workers: number }): VNode {
  return workers > 0 ? <Tag tone="good">{count(workers)} running</Tag> : <Tag tone="bad">none</Tag>;
}

function waitOf(ms: number | null): string {
  if (ms === null) return '-';
  if (!Number.isFinite(ms)) return 'no worker';
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${count(Math.round(ms / 1_000))} s`;
}
