import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import type { RunView, ScheduleView } from '../../../batches/schedules/view.ts';
import { PostForm, readForm } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { addressOf, MorePages, optional } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.ts';
import { StateTag } from '../../kit/state-tag.tsx';
import { Table } from '../../kit/table.tsx';
import { counted, Time } from '../../kit/words.tsx';
import { callApi, dataOf } from '../../own-api.ts';
import type { Pages } from '../../pages.ts';
import { customerOf, viewerOf } from '../../session.ts';
import { WINDOWS } from '../batches/batch-form.tsx';
import { wallClock } from './schedule-form.tsx';

const LIST = '/account/schedules';
const PATH = `${LIST}/:id`;

/** One schedule: when it is due, what its runs came to, and what can be done with it. */
export function registerSchedulePage(scope: FastifyInstance, { app }: Pages): void {
  scope.get(PATH, async (request, reply) => {
    const { cursor } = readForm(z.object({ cursor: optional(z.string()) }), request.query).values;
    const caller = callerOf(request);
    const [found, listed] = await Promise.all([
      callApi(caller, 'GET', apiPathOf(request)),
      callApi(caller, 'GET', addressOf(`${apiPathOf(request)}/runs`, { cursor, limit: '20' })),
    ]);
    const schedule = dataOf<ScheduleView>(found);
    const { runs, nextCursor } = dataOf<{ runs: RunView[]; nextCursor: string | null }>(listed);
    const page = `${LIST}/${schedule.scheduleId}`;
    return sendPage(
      reply,
      <Page title={schedule.name} viewer={viewerOf(request, reply)} path={LIST} styles={['account.css']}>
        <p>
          <a href={LIST}>All schedules</a>
        </p>
        <h1>
          {schedule.name} {schedule.paused && <span class="tag warn">paused</span>}
        </h1>
        <Actions schedule={schedule} page={page} csrf={reply.generateCsrf()} />
        <section class="card">
          <ScheduleFacts schedule={schedule} />
        </section>
        <h2>Runs</h2>
        <div id="runs" data-refresh="15">
          {runs.length === 0 ? <p class="card empty">It has not run yet.</p> : <RunTable runs={runs} />}
        </div>
        <MorePages path={page} query={{ cursor }} next={nextCursor} />
      </Page>,
    );
  });

  for (const [action, paused] of [
    ['pause', true],
    ['resume', false],
  ] as const) {
    scope.post(`${PATH}/${action}`, async (request, reply) => {
      const answer = await callApi(callerOf(request), 'PATCH', apiPathOf(request), { paused });
      return reply.redirect(`${LIST}/${dataOf<ScheduleView>(answer).scheduleId}`, 303);
    });
  }

  scope.post(`${PATH}/run`, async (request, reply) => {
    const answer = await callApi(callerOf(request), 'POST', `${apiPathOf(request)}/run`);
    const { run } = dataOf<{ run: RunView }>(answer);
    if (run.batchId) return reply.redirect(`/account/batches/${run.batchId}`, 303);
    const { id } = request.params as { id: string };
    return reply.redirect(`${LIST}/${encodeURIComponent(id)}`, 303);
  });

  scope.post(`${PATH}/delete`, async (request, reply) => {
    dataOf(await callApi(callerOf(request), 'DELETE', apiPathOf(request)));
    return reply.redirect(LIST, 303);
  });

  function callerOf(request: FastifyRequest) {
    return { app, apiKey: customerOf(request).apiKey };
  }
}

function apiPathOf(request: FastifyRequest): string {
  return `/api/schedules/${encodeURIComponent((request.params as { id: string }).id)}`;
}

function Actions({ schedule, page, csrf }: { schedule: ScheduleView; page: string; csrf: string }): VNode {
  return (
    <div class="buttons">
      <PostForm action={`${page}/run`} csrf={csrf}>
        <button type="submit" class="primary">
          Run now
        </button>
      </PostForm>
      <PostForm action={`${page}/${schedule.paused ? 'resume' : 'pause'}`} csrf={csrf}>
        <button type="submit">{schedule.paused ? 'Resume' : 'Pause'}</button>
      </PostForm>
      <div>
        <a class="button" href={`${page}/edit`}>
          Change
        </a>
      </div>
      <PostForm
        action={`${page}/delete`}
        csrf={csrf}
        confirm={`Delete ${schedule.name}? What its runs have brought stays.`}
      >
        <button type="submit" class="danger">
          Delete
        </button>
      </PostForm>
    </div>
  );
}

function ScheduleFacts({ schedule }: { schedule: ScheduleView }): VNode {
  return (
    <dl class="facts">
      <dt>Pattern</dt>
      <dd>
        <code>{schedule.cron}</code> in {schedule.timezone}
      </dd>
      <dt>Next runs</dt>
      <dd>
        {schedule.paused && 'None while it is paused.'}
        <ul class="plain">
          {schedule.nextRuns.map((at) => (
            <li key={at}>
              {wallClock(Date.parse(at), schedule.timezone)} (<Time at={at} />)
            </li>
          ))}
        </ul>
      </dd>
      <dt>Operation</dt>
      <dd>{schedule.operation}</dd>
      <dt>A run</dt>
      <dd>
        {counted(schedule.items, 'item')}, at most {counted(schedule.units, 'unit')},{' '}
        {counted(schedule.runHours, 'hour')}
      </dd>
      <dt>When it works</dt>
      <dd>{WINDOWS.find(([window]) => window === schedule.window)?.[1]}</dd>
      <dt>Results</dt>
      <dd>{schedule.onlyChanges ? 'Only what has changed since the run before' : 'Everything'}</dd>
      {schedule.webhook && (
        <>
          <dt>Webhook</dt>
          <dd>{schedule.webhook}</dd>
        </>
      )}
      <dt>Schedule</dt>
      <dd>
        <code>{schedule.scheduleId}</code>
      </dd>
    </dl>
  );
}

const TRIGGERS: Record<RunView['trigger'], string> = {
  tick: 'when due',
  missed: 'late',
  manual: 'by hand',
};

function RunTable({ runs }: { runs: readonly RunView[] }): VNode {
  return (
    <Table name="Runs" columns={['Due', 'Begun', 'How', 'State', 'Batch']}>
      {runs.map((run) => (
        <tr key={run.runId}>
          <td>
            <Time at={run.dueAt} />
          </td>
          <td>
            <Time at={run.startedAt} />
          </td>
          <td>{TRIGGERS[run.trigger]}</td>
          <td>
            <StateTag state={run.state} /> {run.reason && <small class="muted">{run.reason}</small>}
          </td>
          <td>
            {run.batchId ? (
              <a href={`/account/batches/${run.batchId}`}>
                <code>{run.batchId.slice(-12)}</code>
              </a>
            ) : (
              <span class="muted">-</span>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}
