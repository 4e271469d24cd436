import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import type { BatchView } from '../../../batches/view.ts';
import { queuedOperation } from '../../../operations/index.ts';
import { PostForm } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.ts';
import { StateTag } from '../../kit/state-tag.tsx';
import { count, Time } from '../../kit/words.tsx';
import { callApi, dataOf } from '../../own-api.ts';
import type { Pages } from '../../pages.ts';
import { customerOf, viewerOf } from '../../session.ts';
import { passOn } from '../passed-on.ts';
import { WINDOWS } from './batch-form.tsx';
import { BatchProgress } from './batch-list.tsx';

const PATH = '/account/batches/:id';

/** One batch: its counts as they move, its results, and what can be done about it. */
export function registerBatchPage(scope: FastifyInstance, { app }: Pages): void {
  scope.get(PATH, async (request, reply) => {
    const batch = dataOf<BatchView>(await callApi(callerOf(request), 'GET', apiPathOf(request)));
    const viewer = viewerOf(request, reply);
    const csrf = reply.generateCsrf();
    const page = `/account/batches/${batch.batchId}`;
    const isOpen = batch.finishedAt === null;
    return sendPage(
      reply,
      <Page title={batch.name ?? 'Batch'} viewer={viewer} path="/account/batches" styles={['account.css']}>
        <p>
          <a href="/account/batches">All batches</a>
        </p>
        <h1>{batch.name ?? `Batch of ${batch.operation}`}</h1>
        <section class="card" id="batch" data-refresh={isOpen ? '2' : undefined} aria-label="State">
          <BatchFacts batch={batch} />
          <div class="buttons">
            {batch.counts.failed > 0 && !isOpen && batch.state !== 'cancelled' && (
              <PostForm action={`${page}/retry`} csrf={csrf}>
                <button type="submit">Retry the failures</button>
              </PostForm>
            )}
            {isOpen && (
              <PostForm
                action={`${page}/cancel`}
                csrf={csrf}
                confirm="Cancel this batch? What is done stays, and stays paid for."
              >
                <button type="submit" class="danger">
                  Cancel
                </button>
              </PostForm>
            )}
          </div>
          <Results batch={batch} page={page} />
        </section>
      </Page>,
    );
  });

  scope.get(`${PATH}/results.:format(^(?:ndjson|csv)$)`, async (request, reply) => {
    const { id, format } = request.params as { id: string; format: string };
    const path = `${apiPathOf(request)}/results?format=${format}`;
    return passOn(request, reply, callerOf(request), { path, name: `souk-batch-${id.slice(-12)}` });
  });

  scope.post(`${PATH}/retry`, async (request, reply) => {
    const answer = await callApi(callerOf(request), 'POST', `${apiPathOf(request)}/retry`);
    return reply.redirect(`/account/batches/${dataOf<BatchView>(answer).batchId}`, 303);
  });

  scope.post(`${PATH}/cancel`, async (request, reply) => {
    const answer = await callApi(callerOf(request), 'DELETE', apiPathOf(request));
    return reply.redirect(`/account/batches/${dataOf<BatchView>(answer).batchId}`, 303);
  });

  function callerOf(request: FastifyRequest) {
    return { app, apiKey: customerOf(request).apiKey };
  }
}

function apiPathOf(request: FastifyRequest): string {
  return `/api/batches/${encodeURIComponent((request.params as { id: string }).id)}`;
}

function BatchFacts({ batch }: { batch: BatchView }): VNode {
  const { counts, units, waiting } = batch;
  return (
    <>
      {waiting && (
        <div class="notice warn">
          <p>
            {waiting.message} It goes on at <Time at={waiting.until} /> at the latest.
          </p>
        </div>
      )}
      <p>
        <StateTag state={batch.state} /> <BatchProgress batch={batch} />
      </p>
      <dl class="totals">
        {(['pending', 'running', 'done', 'failed', 'cancelled'] as const).map((name) => (
          <div key={name} class="card">
            <dt>{name}</dt>
            <dd class="figure">{count(counts[name])}</dd>
          </div>
        ))}
      </dl>
      <dl class="facts">
        <dt>Operation</dt>
        <dd>{batch.operation}</dd>
        <dt>Units</dt>
        <dd>
          {count(units.charged)} charged, {count(units.reserved)} reserved, at most {count(units.quoted)}
        </dd>
        {counts.unchanged > 0 && (
          <>
            <dt>Unchanged</dt>
            <dd>{count(counts.unchanged)}, left out of the results</dd>
          </>
        )}
        <dt>When</dt>
        <dd>{WINDOWS.find(([window]) => window === batch.window)?.[1]}</dd>
        <dt>Begun</dt>
        <dd>
          <Time at={batch.createdAt} />
        </dd>
        <dt>{batch.finishedAt ? 'Ended' : 'Given up at'}</dt>
        <dd>
          <Time at={batch.finishedAt ?? batch.deadlineAt} />
        </dd>
        {batch.scheduleId && (
          <>
            <dt>Schedule</dt>
            <dd>
              <a href={`/account/schedules/${batch.scheduleId}`}>the one that made it</a>
            </dd>
          </>
        )}
        {batch.webhook && (
          <>
            <dt>Webhook</dt>
            <dd>{batch.webhook}</dd>
          </>
        )}
        <dt>Batch</dt>
        <dd>
          <code>{batch.batchId}</code>
        </dd>
      </dl>
    </>
  );
}

function Results({ batch, page }: { batch: BatchView; page: string }): VNode {
  const hasTable = queuedOperation(batch.operation)?.table !== undefined;
  return (
    <>
      <h2>Results</h2>
      <p class="buttons">
        <a class="button" href={`${page}/results.ndjson`} download>
          Download NDJSON
        </a>
        {hasTable && (
          <a class="button" href={`${page}/results.csv`}>
            Download CSV
          </a>
        )}
      </p>
      <p class="hint">
        {batch.resultsUntil ? (
          <>
            Kept until <Time at={batch.resultsUntil} />.
          </>
        ) : (
          'So far: up to the first item that is not done. The whole of them when the batch has ended.'
        )}
      </p>
    </>
  );
}
