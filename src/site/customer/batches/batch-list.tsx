import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { BATCH_STATES } from '../../../batches/batch.ts';
import type { BatchView } from '../../../batches/view.ts';
import { Choice, readForm } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { addressOf, MorePages, optional } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.ts';
import { StateTag } from '../../kit/state-tag.tsx';
import { Table } from '../../kit/table.tsx';
import { count, Time } from '../../kit/words.tsx';
import { callApi, dataOf } from '../../own-api.ts';
import type { Pages } from '../../pages.ts';
import { customerOf, viewerOf } from '../../session.ts';

const PATH = '/account/batches';

const BATCHES_A_PAGE = '25';

const filter = z.object({ state: optional(z.string()), cursor: optional(z.string()) });

/** Many items of one operation, done in the background. */
export function registerBatchList(scope: FastifyInstance, { app }: Pages): void {
  scope.get(PATH, async (request, reply) => {
    const { state, scheduleId, cursor } = readForm(filter, request.query).values;
    const asked = { state, scheduleId, cursor };
    const path = addressOf('/api/batches', { ...asked, limit: BATCHES_A_PAGE });
    const answer = await callApi({ app, apiKey: customerOf(request).apiKey }, 'GET', path);
    const { batches, nextCursor } = dataOf<{ batches: BatchView[]; nextCursor: string | null }>(answer);
    const isMoving = batches.some(({ finishedAt }) => finishedAt === null);
    return sendPage(
      reply,
      <Page title="Batches" viewer={viewerOf(request, reply)} path={PATH} styles={['account.css']} wide>
        <div class="row">
          <h1>Batches</h1>
          <a class="button primary push" href={`${PATH}/new`}>
            New batch
          </a>
        </div>
        <p class="lead">
          One operation for many items, done in the background and fetched when it suits you.
        </p>
        <form class="filters" method="get" action={PATH}>
          <Choice
            name="state"
            label="State"
            value={state}
            options={[['', 'All'], ...BATCH_STATES.map((name) => [name, name] as const)]}
          />
          <button type="submit">Filter</button>
        </form>
        <div id="batches" data-refresh={isMoving ? '3' : undefined}>
          {batches.length === 0 ? (
            <p class="card empty">There are no such batches.</p>
          ) : (
            <BatchTable batches={batches} />
          )}
        </div>
        <MorePages path={PATH} query={asked} next={nextCursor} />
      </Page>,
    );
  });
}

export function BatchTable({ batches }: { batches: readonly BatchView[] }): VNode {
  return (
    <Table name="Batches" columns={['Batch', 'Operation', 'State', 'Progress', '#Failed', '#Units', 'Begun']}>
      {batches.map((batch) => (
        <tr key={batch.batchId}>
          <td>
            <a href={`${PATH}/${batch.batchId}`}>{batch.name ?? <code>{batch.batchId.slice(-12)}</code>}</a>
          </td>
          <td>{batch.operation}</td>
          <td>
            <StateTag state={batch.state} />
          </td>
          <td>
            <BatchProgress batch={batch} />
          </td>
          <td class="number">{count(batch.counts.failed)}</td>
          <td class="number">{count(batch.units.charged)}</td>
          <td>
            <Time at={batch.createdAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** How many items have come to an end, one way or another. */
export function BatchProgress({ batch: { counts } }: { batch: BatchView }): VNode {
  const ended = counts.done + counts.failed + counts.cancelled;
  return (
    <>
      <progress
        max={counts.items}
        value={ended}
        aria-label={`${count(ended)} of ${count(counts.items)} items`}
      />
      <small>
        {count(ended)} of {count(counts.items)}
      </small>
    </>
  );
}
