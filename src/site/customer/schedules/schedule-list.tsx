import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import type { ScheduleView } from '../../../batches/schedules/view.ts';
import { ListPage } from '../../kit/list-page.tsx';
import { sendPage } from '../../kit/render.tsx';
import { Table } from '../../kit/table.tsx';
import { Tag } from '../../kit/tag.tsx';
import { count, Time } from '../../kit/words.tsx';
import { apiList } from '../customer-api.ts';

const PATH = '/account/schedules';

/** Registers the list of the account's schedules. */
export function registerScheduleList(scope: FastifyInstance): void {
  scope.get(PATH, async (request, reply) => {
    const list = await apiList<ScheduleView>(request, { url: '/api/schedules', name: 'schedules' });
    return sendPage(
      reply,
      <ListPage
        title="Schedules"
        create={[`${PATH}/new`, 'New schedule']}
        lead="A schedule creates batches at set times in your time zone, with all results or only the changes."
        path={PATH}
        list={list}
      >
        <ScheduleTable schedules={list.items} />
      </ListPage>,
    );
  });
}

function ScheduleTable({ schedules }: { schedules: readonly ScheduleView[] }): VNode {
  return (
    <Table
      name="Schedules"
      empty="No schedules yet."
      rows={schedules}
      columns={[
        ['Schedule', ({ scheduleId, name }) => <a href={`${PATH}/${scheduleId}`}>{name}</a>],
        ['Operation', ({ operation }) => operation],
        [
          'Pattern',
          ({ cron, timezone }) => (
            <>
              <code>{cron}</code> {timezone}
            </>
          ),
        ],
        [
          'Next run',
          ({ paused, nextRuns }) => (paused ? <Tag tone="warn">paused</Tag> : <Time at={nextRuns[0]} />),
        ],
        ['Items', ({ items }) => count(items), 'number'],
        ['Units per run', ({ units }) => count(units), 'number'],
      ]}
    />
  );
}
