import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import type { AlertView } from '../../../batches/trackers/alert.ts';
import { conditionText, valueText } from '../../../batches/trackers/condition-text.ts';
import type { TrackerView } from '../../../batches/trackers/view.ts';
import { Facts } from '../../kit/facts.tsx';
import { PostButton } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { addressOf, MorePages } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.tsx';
import { Table } from '../../kit/table.tsx';
import { StateTag, Tag } from '../../kit/tag.tsx';
import { amount, counted, Time } from '../../kit/words.tsx';
import { apiData, apiList, idIn } from '../customer-api.ts';
import { wallClock } from '../schedules/schedule-form.tsx';

const LIST = '/account/trackers';
const PATH = `${LIST}/:id`;

/** Registers the page of a tracker: its conditions, its alerts, and its actions. */
export function registerTrackerPage(scope: FastifyInstance): void {
  scope.get(PATH, showTracker);
  scope.post(`${PATH}/run`, runNow);
  scope.post(`${PATH}/pause`, (request, reply) => setPaused(request, reply, true));
  scope.post(`${PATH}/resume`, (request, reply) => setPaused(request, reply, false));
  scope.post(`${PATH}/delete`, deleteTracker);
}

async function showTracker(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const url = apiUrlOf(request);
  const [tracker, alerts] = await Promise.all([
    apiData<TrackerView>(request, 'GET', url),
    apiList<AlertView>(request, { url: `${url}/alerts`, name: 'alerts' }),
  ]);
  const { trackerId, name, paused, domain } = tracker;
  return sendPage(
    reply,
    <Page title={name} styles={['account.css']} wide>
      <p>
        <a href={LIST}>All trackers</a>
      </p>
      <h1>
        {name} {paused && <Tag tone="warn">paused</Tag>}
      </h1>
      <Actions tracker={tracker} />
      <section class="card">
        <TrackerFacts tracker={tracker} />
      </section>
      <h2>Alerts</h2>
      <div id="alerts" data-refresh="15">
        <AlertTable alerts={alerts.items} domain={domain} />
      </div>
      <MorePages path={`${LIST}/${trackerId}`} list={alerts} />
    </Page>,
  );
}

async function setPaused(
  request: FastifyRequest,
  reply: FastifyReply,
  paused: boolean,
): Promise<FastifyReply> {
  const { trackerId } = await apiData<TrackerView>(request, 'PATCH', apiUrlOf(request), { paused });
  return reply.redirect(`${LIST}/${trackerId}`, 303);
}

async function runNow(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  await apiData(request, 'POST', `${apiUrlOf(request)}/run`);
  return reply.redirect(`${LIST}/${idIn(request)}`, 303);
}

async function deleteTracker(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  await apiData(request, 'DELETE', apiUrlOf(request));
  return reply.redirect(LIST, 303);
}

function apiUrlOf(request: FastifyRequest): string {
  return `/api/trackers/${idIn(request)}`;
}

function Actions({ tracker: { trackerId, name, paused } }: { tracker: TrackerView }): VNode {
  const page = `${LIST}/${trackerId}`;
  return (
    <div class="buttons">
      <PostButton action={`${page}/run`} class="primary">
        Check now
      </PostButton>
      <PostButton action={`${page}/${paused ? 'resume' : 'pause'}`}>{paused ? 'Resume' : 'Pause'}</PostButton>
      <div>
        <a class="button" href={`${page}/edit`}>
          Edit
        </a>
      </div>
      <PostButton action={`${page}/delete`} confirm={`Delete ${name} and its alerts?`} class="danger">
        Delete
      </PostButton>
    </div>
  );
}

function TrackerFacts({ tracker }: { tracker: TrackerView }): VNode {
  const { conditions, domain, cron, timezone, items, subject, units, unitsPerDay, lastRun, webhook } =
    tracker;
  const [next] = tracker.nextRuns;
  return (
    <Facts
      facts={[
        [
          'Conditions',
          <ul class="plain">
            {conditions.map((condition) => (
              <li>{conditionText(condition, domain)}</li>
            ))}
          </ul>,
        ],
        ['Tracks', counted(items, subject === 'products' ? 'product' : 'keyword')],
        [
          'Pattern',
          <>
            <code>{cron}</code> in {timezone}
          </>,
        ],
        next && ['Next check', wallClock(Date.parse(next), timezone)],
        lastRun && ['Last check', <LastCheck run={lastRun} />],
        ['Price', `At most ${counted(units, 'unit')} per check, ${amount(unitsPerDay)} per day on average`],
        ['Hysteresis', `${tracker.hysteresisPercent} %`],
        ['Quiet time', counted(tracker.quietHours, 'hour')],
        webhook && ['Webhook', webhook],
        tracker.notify.includes('email') && ['E-mail', 'At most one mail an hour'],
        ['Tracker', <code>{tracker.trackerId}</code>],
      ]}
    />
  );
}

function LastCheck({ run }: { run: NonNullable<TrackerView['lastRun']> }): VNode {
  const { state, startedAt, reason, batchId } = run;
  return (
    <>
      <StateTag state={state} /> <Time at={startedAt} /> {reason}{' '}
      {batchId && <a href={`/account/batches/${batchId}`}>Batch</a>}
    </>
  );
}

function AlertTable({ alerts, domain }: { alerts: readonly AlertView[]; domain: number }): VNode {
  return (
    <Table
      name="Alerts"
      empty="No alerts yet."
      rows={alerts}
      columns={[
        ['Time', ({ createdAt }) => <Time at={createdAt} />],
        ['Subject', (alert) => <Subject alert={alert} domain={domain} />, 'long'],
        ['Condition', ({ condition }) => conditionText(condition, domain), 'long'],
        ['Before', ({ condition, before }) => valueText(condition, before, domain), 'number'],
        ['After', ({ condition, after }) => valueText(condition, after, domain), 'number'],
      ]}
    />
  );
}

function Subject({ alert: { asin, title }, domain }: { alert: AlertView; domain: number }): VNode {
  if (asin === null) return <>{title}</>;
  return <a href={addressOf('/explore/product', { domain: String(domain), asin })}>{title ?? asin}</a>;
}
