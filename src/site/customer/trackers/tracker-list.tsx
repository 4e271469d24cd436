import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { conditionText } from '../../../batches/trackers/condition-text.ts';
import type { TrackerView } from '../../../batches/trackers/view.ts';
import { ListPage } from '../../kit/list-page.tsx';
import { sendPage } from '../../kit/render.tsx';
import { Table } from '../../kit/table.tsx';
import { Tag } from '../../kit/tag.tsx';
import { amount, count, Time } from '../../kit/words.tsx';
import { apiList } from '../customer-api.ts';

const PATH = '/account/trackers';

/** Registers the list of the account's trackers. */
export function registerTrackerList(scope: FastifyInstance): void {
  scope.get(PATH, async (request, reply) => {
    const list = await apiList<TrackerView>(request, { url: '/api/trackers', name: 'trackers' });
    return sendPage(
      reply,
      <ListPage
        title="Trackers"
        create={[`${PATH}/new`, 'New tracker']}
        lead="A tracker checks products or keywords at set times, and alerts you when a condition becomes true."
        path={PATH}
        list={list}
      >
        <TrackerTable trackers={list.items} />
      </ListPage>,
    );
  });
}

function TrackerTable({ trackers }: { trackers: readonly TrackerView[] }): VNode {
  return (
    <Table
      name="Trackers"
      empty="No trackers yet."
      rows={trackers}
      columns={[
        ['Tracker', ({ trackerId, name }) => <a href={`${PATH}/${trackerId}`}>{name}</a>],
        [
          'Conditions',
          ({ conditions, domain }) => conditions.map((one) => conditionText(one, domain)).join('; '),
          'long',
        ],
        [
          'Next check',
          ({ paused, nextRuns }) => (paused ? <Tag tone="warn">paused</Tag> : <Time at={nextRuns[0]} />),
        ],
        ['Items', ({ items }) => count(items), 'number'],
        ['Units per check', ({ units }) => count(units), 'number'],
        ['Units per day', ({ unitsPerDay }) => amount(unitsPerDay), 'number'],
      ]}
    />
  );
}
