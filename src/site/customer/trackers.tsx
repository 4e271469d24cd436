import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import type { AlertView } from '../../batches/trackers/alert.ts';
import { conditionText, valueText } from '../../batches/trackers/condition.ts';
import type { TrackerView } from '../../batches/trackers/tracker.ts';
import { Facts, StateTag, Tag } from '../kit/elements.tsx';
import { readForm } from '../kit/form-request.ts';
import { Table, tableOf } from '../kit/table.tsx';
import { amount, count, counted, Time } from '../kit/words.tsx';
import { ProductLink } from './explore/explore-view.tsx';
import { registerRepeatedWork, wallClock } from './repeated-work.tsx';
import { fieldOf, TrackerForm, trackerBody, trackerForm, valuesOf } from './tracker-form.tsx';

/** Registers the pages of the account's trackers. */
export function registerTrackers(scope: FastifyInstance): void {
  registerRepeatedWork(scope, {
    noun: 'tracker',
    lead: 'A tracker checks products or keywords at set times, and alerts you when a condition becomes true.',
    List: TrackerTable,
    idOf: ({ trackerId }) => trackerId,
    wide: true,
    runButton: 'Check now',
    afterRun: () => null,
    deleteQuestion: (name) => `Delete ${name} and its alerts?`,
    Facts: TrackerFacts,
    past: { name: 'alerts', title: 'Alerts', limit: 25, Table: AlertTable },
    read: (body) => readForm(trackerForm, body),
    body: trackerBody,
    valuesOf,
    fieldOf,
    Form: TrackerForm,
  });
}

const TrackerTable = tableOf<TrackerView>('Trackers', 'No trackers yet.', [
  ['Tracker', ({ trackerId, name }) => <a href={`/account/trackers/${trackerId}`}>{name}</a>],
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
]);

function TrackerFacts({ of: tracker }: { of: TrackerView }): VNode {
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

function AlertTable({ rows, of: { domain } }: { rows: readonly AlertView[]; of: TrackerView }): VNode {
  return (
    <Table
      name="Alerts"
      empty="No alerts yet."
      rows={rows}
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
  return <ProductLink domain={domain} asin={asin} title={title} />;
}
