import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import type { BatchView } from '../../../batches/view.ts';
import { queuedOperation } from '../../../operations/index.ts';
import { Facts } from '../../kit/facts.tsx';
import { PostButton } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.tsx';
import { StateTag } from '../../kit/tag.tsx';
import { count, Time } from '../../kit/words.tsx';
import { windowText } from '../batch-items/batch-items-form.ts';
import { apiData, idIn, streamApi } from '../customer-api.ts';
import { sendDownload } from '../download.ts';
import { BatchProgress } from './batch-list.tsx';
import { firstResults, ResultTable } from './batch-results.tsx';

const LIST = '/account/batches';
const PATH = `${LIST}/:id`;

/** Registers the page of a batch: its counts and results, and buttons that retry or cancel it. */
export function registerBatchPage(scope: FastifyInstance): void {
  scope.get(PATH, showBatch);
  scope.get(`${PATH}/results.:format(^(?:ndjson|csv)$)`, sendResults);
  scope.post(`${PATH}/retry`, retryBatch);
  scope.post(`${PATH}/cancel`, cancelBatch);
}

async function showBatch(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const batch = await apiData<BatchView>(request, 'GET', `/api/batches/${idIn(request)}`);
  const hasTable = await resultsFormTable(request, batch);
  const results = hasTable && batch.counts.done > 0 ? await firstResults(request, idIn(request)) : null;
  const { name, operation, finishedAt } = batch;
  return sendPage(
    reply,
    <Page title={name ?? 'Batch'} styles={['account.css']} wide>
      <p>
        <a href={LIST}>All batches</a>
      </p>
      <h1>{name ?? `Batch of ${operation}`}</h1>
      <section
        class="card"
        id="batch"
        data-refresh={finishedAt === null ? '2' : undefined}
        aria-label="State"
      >
        <Progress batch={batch} />
        <BatchFacts batch={batch} />
        <Actions batch={batch} />
        <Results batch={batch} hasTable={hasTable} />
        {results && <ResultTable results={results} batch={batch} />}
      </section>
    </Page>,
  );
}

/** Returns whether the API has the results as CSV. Results with selected fields have no columns. */
async function resultsFormTable(request: FastifyRequest, batch: BatchView): Promise<boolean> {
  const { batchId, operation } = batch;
  if (!queuedOperation(operation)?.table) return false;
  const url = `/api/batches/${batchId}/results?format=csv`;
  const answer = await streamApi(request, { method: 'GET', url });
  answer.body.destroy();
  return answer.status < 400;
}

async function sendResults(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { format } = request.params as { format: string };
  const id = idIn(request);
  const url = `/api/batches/${id}/results?format=${format}`;
  return sendDownload(request, reply, { url, name: `souk-batch-${id.slice(-12)}` });
}

async function retryBatch(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { batchId } = await apiData<BatchView>(request, 'POST', `/api/batches/${idIn(request)}/retry`);
  return reply.redirect(`${LIST}/${batchId}`, 303);
}

async function cancelBatch(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { batchId } = await apiData<BatchView>(request, 'DELETE', `/api/batches/${idIn(request)}`);
  return reply.redirect(`${LIST}/${batchId}`, 303);
}

function Progress({ batch }: { batch: BatchView }): VNode {
  const { counts, waiting, state } = batch;
  return (
    <>
      {waiting && (
        <div class="notice warn">
          <p>
            {waiting.message} It continues at <Time at={waiting.until} /> at the latest.
          </p>
        </div>
      )}
      <p>
        <StateTag state={state} /> <BatchProgress batch={batch} />
      </p>
      <dl class="totals">
        {(['pending', 'running', 'done', 'failed', 'cancelled'] as const).map((name) => (
          <div key={name} class="card">
            <dt>{name}</dt>
            <dd class="figure">{count(counts[name])}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function BatchFacts({ batch }: { batch: BatchView }): VNode {
  const { batchId, operation, units, counts, window, createdAt, finishedAt, deadlineAt } = batch;
  const { scheduleId, webhook } = batch;
  return (
    <Facts
      facts={[
        ['Operation', operation],
        [
          'Units',
          `${count(units.charged)} charged, ${count(units.reserved)} reserved, at most ${count(units.quoted)}`,
        ],
        counts.unchanged > 0 && ['Unchanged', `${count(counts.unchanged)}, omitted from the results`],
        ['Hours', windowText(window)],
        ['Started', <Time at={createdAt} />],
        [finishedAt ? 'Ended' : 'Deadline', <Time at={finishedAt ?? deadlineAt} />],
        scheduleId && ['Schedule', <a href={`/account/schedules/${scheduleId}`}>View the schedule</a>],
        webhook && ['Webhook', webhook],
        ['Batch', <code>{batchId}</code>],
      ]}
    />
  );
}

function Actions({ batch: { batchId, counts, finishedAt, state } }: { batch: BatchView }): VNode {
  const isOpen = finishedAt === null;
  return (
    <div class="buttons">
      {counts.failed > 0 && !isOpen && state !== 'cancelled' && (
        <PostButton action={`${LIST}/${batchId}/retry`}>Retry failed items</PostButton>
      )}
      {isOpen && (
        <PostButton
          action={`${LIST}/${batchId}/cancel`}
          confirm="Cancel this batch? Finished items keep their results and their charges."
          class="danger"
        >
          Cancel
        </PostButton>
      )}
    </div>
  );
}

function Results({ batch, hasTable }: { batch: BatchView; hasTable: boolean }): VNode {
  const { batchId, resultsUntil } = batch;
  return (
    <>
      <h2>Results</h2>
      <p class="buttons">
        <a class="button" href={`${LIST}/${batchId}/results.ndjson`} download>
          Download NDJSON
        </a>
        {hasTable && (
          <a class="button" href={`${LIST}/${batchId}/results.csv`}>
            Download CSV
          </a>
        )}
      </p>
      <p class="hint">
        {resultsUntil ? (
          <>
            Available until <Time at={resultsUntil} />.
          </>
        ) : (
          'Until the batch has ended, a download stops at the first item that has not finished.'
        )}
      </p>
    </>
  );
}
