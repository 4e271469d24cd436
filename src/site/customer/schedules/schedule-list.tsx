import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { ScheduleView } from '../../../batches/schedules/view.ts';
import { readForm } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { addressOf, MorePages, optional } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.ts';
import { Table } from '../../kit/table.tsx';
import { count, Time } from '../../kit/words.tsx';
import { callApi, dataOf } from '../../own-api.ts';
import type { Pages } from '../../pages.ts';
import { customerOf, viewerOf } from '../../session.ts';

const PATH = '/account/schedules';

/** Batches that come again and again. */
export function registerScheduleList(scope: FastifyInstance, { app }: Pages): void {
  scope.get(PATH, async (request, reply) => {
    const { cursor } = readForm(z.object({ cursor: optional(z.string()) }), request.query).values;
    const path = addressOf('/api/schedules', { cursor, limit: '25' });
    const answer = await callApi({ app, apiKey: customerOf(request).apiKey }, 'GET', path);
    const { schedules, nextCursor } = dataOf<{ schedules: ScheduleView[]; nextCursor: string | null }>(
      answer,
    );
    return sendPage(
      reply,
      <Page title="Schedules" viewer={viewerOf(request, reply)} path={PATH} styles={['account.css']} wide>
        <div class="row">
          <h1>Schedules</h1>
          <a class="button primary push" href={`${PATH}/new`}>
            New schedule
          </a>
        </div>
        <p class="lead">
          Batches that come again and again, in your time zone, all of it or only what has changed.
        </p>
        {schedules.length === 0 ? (
          <p class="card empty">There are no schedules.</p>
        ) : (
          <Table
            name="Schedules"
            columns={['Schedule', 'Operation', 'Pattern', 'Next run', '#Items', '#Units a run']}
          >
            {schedules.map((schedule) => (
              <tr key={schedule.scheduleId}>
                <td>
                  <a href={`${PATH}/${schedule.scheduleId}`}>{schedule.name}</a>
                </td>
                <td>{schedule.operation}</td>
                <td>
                  <code>{schedule.cron}</code> {schedule.timezone}
                </td>
                <td>
                  {schedule.paused ? (
                    <span class="tag warn">paused</span>
                  ) : (
                    <Time at={schedule.nextRuns[0]} />
                  )}
                </td>
                <td class="number">{count(schedule.items)}</td>
                <td class="number">{count(schedule.units)}</td>
              </tr>
            ))}
          </Table>
        )}
        <MorePages path={PATH} query={{ cursor }} next={nextCursor} />
      </Page>,
    );
  });
}
