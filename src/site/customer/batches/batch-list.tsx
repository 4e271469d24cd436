import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { BATCH_STATES } from '../../../batches/batch.ts';
import type { BatchView } from '../../../batches/view.ts';
import { FilterForm } from '../../kit/form.tsx';
import { ListPage, StateChoice } from '../../kit/list-page.tsx';
import { sendPage } from '../../kit/render.tsx';
import { Table } from '../../kit/table.tsx';
import { StateTag } from '../../kit/tag.tsx';
import { count, ShortId, Time } from '../../kit/words.tsx';
import { apiList } from '../customer-api.ts';

const PATH = '/account/batches';

/** Registers the list of the account's batches. */
export function registerBatchList(scope: FastifyInstance): void {
  scope.get(PATH, async (request, reply) => {
    const filters = ['state', 'scheduleId'];
    const list = await apiList<BatchView>(request, { url: '/api/batches', name: 'batches', filters });
    const hasOpen = list.items.some(({ finishedAt }) => finishedAt === null);
    return sendPage(
      reply,
      <ListPage
        title="Batches"
        create={[`${PATH}/new`, 'New batch']}
        lead="A batch runs one operation for many items in the background. Download the results when it has ended."
        path={PATH}
        list={list}
        filter={
          <FilterForm path={PATH} values={list.query}>
            <StateChoice states={BATCH_STATES} />
          </FilterForm>
        }
        refresh={{ id: 'batches', seconds: hasOpen ? 3 : null }}
      >
        <BatchTable batches={list.items} />
      </ListPage>,
    );
  });
}

function BatchTable({ batches }: { batches: readonly BatchView[] }): VNode {
  return (
    <Table
      name="Batches"
      empty="No batches found."
      rows={batches}
      columns={[
        [
          'Batch',
          ({ batchId, name }) => <a href={`${PATH}/${batchId}`}>{name ?? <ShortId id={batchId} />}</a>,
        ],
        ['Operation', ({ operation }) => operation],
        ['State', ({ state }) => <StateTag state={state} />],
        ['Progress', (batch) => <BatchProgress batch={batch} />],
        ['Failed', ({ counts }) => count(counts.failed), 'number'],
        ['Units', ({ units }) => count(units.charged), 'number'],
        ['Started', ({ createdAt }) => <Time at={createdAt} />],
      ]}
    />
  );
}

/** The number of items that are done, failed or cancelled, as a progress bar. */
export function BatchProgress({ batch: { counts } }: { batch: BatchView }): VNode {
  const ended = counts.done + counts.failed + counts.cancelled;
  const text = `${count(ended)} of ${count(counts.items)}`;
  return (
    <>
      <progress max={counts.items} value={ended} aria-label={`${text} items`} />
      <small>{text}</small>
    </>
  );
}
