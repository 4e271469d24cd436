import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { BATCH_STATES, type BatchView } from '../../batches/batch.ts';
import { TABLE_FORMAT_NAMES } from '../../operations/tables/formats.ts';
import { Facts, Notice, StateTag } from '../kit/elements.tsx';
import { FilterForm, PostButton } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { ListPage, StateChoice } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { tableOf } from '../kit/table.tsx';
import { count, ShortId, Time } from '../kit/words.tsx';
import { windowText } from './batch-items.tsx';
import {
  Changes,
  changesIn,
  firstResults,
  Results,
  ResultTable,
  sendChanges,
  sendResults,
} from './batch-results.tsx';
import { apiData, apiList, idIn } from './customer-api.ts';
import { linksTo, ResultLinks } from './links.tsx';

const LIST = '/account/batches';

/** Registers the list of the account's batches. */
export function registerBatchList(scope: FastifyInstance): void {
  scope.get(LIST, async (request, reply) => {
    const filters = ['state', 'scheduleId'];
    const list = await apiList<BatchView>(request, { url: '/api/batches', name: 'batches', filters });
    const hasOpen = list.items.some(({ finishedAt }) => finishedAt === null);
    return sendPage(
      reply,
      <ListPage
        title="Batches"
        create={[`${LIST}/new`, 'New batch']}
        lead="A batch runs one operation for many items in the background. Download the results when it has ended."
        path={LIST}
        list={list}
        filter={
          <FilterForm path={LIST} values={list.query}>
            <StateChoice states={BATCH_STATES} />
          </FilterForm>
        }
        refresh={{ id: 'batches', seconds: hasOpen ? 3 : null }}
      >
        <BatchTable rows={list.items} />
      </ListPage>,
    );
  });
}

const BatchTable = tableOf<BatchView>('Batches', 'No batches found. Create one with New batch.', [
  ['Batch', ({ batchId, name }) => <a href={`${LIST}/${batchId}`}>{name ?? <ShortId id={batchId} />}</a>],
  ['Operation', ({ operation }) => operation],
  ['State', ({ state }) => <StateTag state={state} />],
  ['Progress', (batch) => <BatchProgress batch={batch} />],
  ['Failed', ({ counts }) => count(counts.failed), 'number'],
  ['Units', ({ units }) => count(units.charged), 'number'],
  ['Started', ({ createdAt }) => <Time at={createdAt} />],
]);

/** The number of items that are done, failed or cancelled, as a progress bar. */
function BatchProgress({ batch: { counts } }: { batch: BatchView }): VNode {
  const ended = counts.done + counts.failed + counts.cancelled;
  const text = `${count(ended)} of ${count(counts.items)}`;
  return (
    <>
      <progress max={counts.items} value={ended} aria-label={`${text} items`} />
      <small>{text}</small>
    </>
  );
}

const PATH = `${LIST}/:id`;

/** Registers the page of a batch: its counts and results, and buttons that retry or cancel it. */
export function registerBatchPage(scope: FastifyInstance): void {
  scope.get(PATH, showBatch);
  const format = `:format(^(?:${TABLE_FORMAT_NAMES.join('|')})$)`;
  scope.get(`${PATH}/results.${format}`, sendResults);
  scope.get(`${PATH}/changes.${format}`, sendChanges);
  scope.post(`${PATH}/retry`, async (request, reply) => {
    const { batchId } = await apiData<BatchView>(request, 'POST', `/api/batches/${idIn(request)}/retry`);
    return reply.redirect(`${LIST}/${batchId}`, 303);
  });
  scope.post(`${PATH}/cancel`, async (request, reply) => {
    const { batchId } = await apiData<BatchView>(request, 'DELETE', `/api/batches/${idIn(request)}`);
    return reply.redirect(`${LIST}/${batchId}`, 303);
  });
}

async function showBatch(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const batch = await apiData<BatchView>(request, 'GET', `/api/batches/${idIn(request)}`);
  const results = await firstResults(request, batch);
  const changes = await changesIn(request, batch);
  const links = batch.finishedAt === null ? null : await linksTo(request, batch.batchId);
  const { name, operation, finishedAt } = batch;
  return sendPage(
    reply,
    <Page
      title={name ?? 'Batch'}
      back={[LIST, 'All batches']}
      heading={name ?? `Batch of ${operation}`}
      styles={['account.css']}
      wide
    >
      <section
        class="card"
        id="batch"
        data-refresh={finishedAt === null ? '2' : undefined}
        aria-label="State"
      >
        <Progress batch={batch} />
        <BatchFacts batch={batch} />
        <Actions batch={batch} />
        <Results batch={batch} tables={results?.tables ?? []} />
        {changes.length > 0 && <Changes path={`${LIST}/${batch.batchId}`} changes={changes} />}
        {links && (
          <ResultLinks target="batch" id={batch.batchId} links={links} tables={results?.tables ?? []} />
        )}
        {results && batch.counts.done > 0 && <ResultTable results={results} batch={batch} />}
      </section>
    </Page>,
  );
}

function Progress({ batch }: { batch: BatchView }): VNode {
  const { counts, waiting, state } = batch;
  return (
    <>
      {waiting && (
        <Notice tone="warn">
          {waiting.message} It continues at <Time at={waiting.until} /> at the latest.
        </Notice>
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
