import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import type { RunView, ScheduleView } from '../../../batches/schedules/view.ts';
import { Facts } from '../../kit/facts.tsx';
import { PostButton } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { MorePages } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.tsx';
import { Table } from '../../kit/table.tsx';
import { StateTag, Tag } from '../../kit/tag.tsx';
import { counted, Dash, ShortId, Time } from '../../kit/words.tsx';
import { windowText } from '../batch-items/batch-items-form.ts';
import { apiData, apiList, callApi, dataOf, idIn } from '../customer-api.ts';
import { wallClock } from './schedule-form.tsx';

const LIST = '/account/schedules';
const PATH = `${LIST}/:id`;

/** Registers the page of a schedule: its next and past runs, and its actions. */
export function registerSchedulePage(scope: FastifyInstance): void {
  scope.get(PATH, showSchedule);
  scope.post(`${PATH}/pause`, (request, reply) => setPaused(request, reply, true));
  scope.post(`${PATH}/resume`, (request, reply) => setPaused(request, reply, false));
  scope.post(`${PATH}/run`, runNow);
  scope.post(`${PATH}/delete`, deleteSchedule);
}

async function showSchedule(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const url = apiUrlOf(request);
  const found = await callApi(request, 'GET', url);
  // The batches of a tracker link here.
  if (found.status === 404 && (await isTracker(request)))
    return reply.redirect(`/account/trackers/${idIn(request)}`, 303);
  const schedule = dataOf<ScheduleView>(found);
  const runs = await apiList<RunView>(request, { url: `${url}/runs`, name: 'runs', limit: 20 });
  const { scheduleId, name, paused } = schedule;
  return sendPage(
    reply,
    <Page title={name} styles={['account.css']}>
      <p>
        <a href={LIST}>All schedules</a>
      </p>
      <h1>
        {name} {paused && <Tag tone="warn">paused</Tag>}
      </h1>
      <Actions schedule={schedule} />
      <section class="card">
        <ScheduleFacts schedule={schedule} />
      </section>
      <h2>Runs</h2>
      <div id="runs" data-refresh="15">
        <RunTable runs={runs.items} />
      </div>
      <MorePages path={`${LIST}/${scheduleId}`} list={runs} />
    </Page>,
  );
}

async function isTracker(request: FastifyRequest): Promise<boolean> {
  const { status } = await callApi(request, 'GET', `/api/trackers/${idIn(request)}`);
  return status === 200;
}

async function setPaused(
  request: FastifyRequest,
  reply: FastifyReply,
  paused: boolean,
): Promise<FastifyReply> {
  const { scheduleId } = await apiData<ScheduleView>(request, 'PATCH', apiUrlOf(request), { paused });
  return reply.redirect(`${LIST}/${scheduleId}`, 303);
}

async function runNow(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { run } = await apiData<{ run: RunView }>(request, 'POST', `${apiUrlOf(request)}/run`);
  return reply.redirect(run.batchId ? `/account/batches/${run.batchId}` : `${LIST}/${idIn(request)}`, 303);
}

async function deleteSchedule(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  await apiData(request, 'DELETE', apiUrlOf(request));
  return reply.redirect(LIST, 303);
}

function apiUrlOf(request: FastifyRequest): string {
  return `/api/schedules/${idIn(request)}`;
}

function Actions({ schedule: { scheduleId, name, paused } }: { schedule: ScheduleView }): VNode {
  const page = `${LIST}/${scheduleId}`;
  return (
    <div class="buttons">
      <PostButton action={`${page}/run`} class="primary">
        Run now
      </PostButton>
      <PostButton action={`${page}/${paused ? 'resume' : 'pause'}`}>{paused ? 'Resume' : 'Pause'}</PostButton>
      <div>
        <a class="button" href={`${page}/edit`}>
          {' '}
          Edit{' '}
        </a>
      </div>
      <PostButton
        action={`${page}/delete`}
        confirm={`Delete ${name}? The results of its runs are kept.`}
        class="danger"
      >
        Delete
      </PostButton>
    </div>
  );
}

function ScheduleFacts({ schedule }: { schedule: ScheduleView }): VNode {
  const { cron, timezone, operation, items, units, runHours, window, onlyChanges, webhook } = schedule;
  return (
    <Facts
      facts={[
        [
          'Pattern',
          <>
            <code>{cron}</code> in {timezone}
          </>,
        ],
        ['Next runs', <NextRuns schedule={schedule} />],
        ['Operation', operation],
        [
          'Each run',
          `${counted(items, 'item')}, at most ${counted(units, 'unit')}, ${counted(runHours, 'hour')}`,
        ],
        ['Hours', windowText(window)],
        ['Results', onlyChanges ? 'Only changes since the previous run' : 'All results'],
        webhook && ['Webhook', webhook],
        ['Schedule', <code>{schedule.scheduleId}</code>],
      ]}
    />
  );
}

function NextRuns({ schedule: { paused, nextRuns, timezone } }: { schedule: ScheduleView }): VNode {
  return (
    <>
      {paused && 'The schedule does not run while it is paused.'}
      <ul class="plain">
        {nextRuns.map((at) => (
          <li key={at}>
            {wallClock(Date.parse(at), timezone)} (<Time at={at} />)
          </li>
        ))}
      </ul>
    </>
  );
}

const TRIGGERS: Record<RunView['trigger'], string> = {
  tick: 'Schedule',
  missed: 'Schedule, late',
  manual: 'Manual',
};

function RunTable({ runs }: { runs: readonly RunView[] }): VNode {
  return (
    <Table
      name="Runs"
      empty="No runs yet."
      rows={runs}
      columns={[
        ['Due', ({ dueAt }) => <Time at={dueAt} />],
        ['Started', ({ startedAt }) => <Time at={startedAt} />],
        ['Trigger', ({ trigger }) => TRIGGERS[trigger]],
        [
          'State',
          ({ state, reason }) => (
            <>
              <StateTag state={state} /> {reason && <small class="muted">{reason}</small>}
            </>
          ),
        ],
        ['Batch', ({ batchId }) => <BatchLink batchId={batchId} />],
      ]}
    />
  );
}

function BatchLink({ batchId }: { batchId: string | null }): VNode {
  if (!batchId) return <Dash />;
  return (
    <a href={`/account/batches/${batchId}`}>
      <ShortId id={batchId} />
    </a>
  );
}
