import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import type { AlertView } from '../../batches/trackers/alert.ts';
import { conditionText, valueText } from '../../batches/trackers/condition.ts';
import type { ScreenResult } from '../../batches/trackers/screen-check.ts';
import { reasonText } from '../../batches/trackers/screen-reason.ts';
import type { TrackedValue } from '../../batches/trackers/tracked-values.ts';
import type { TrackerView } from '../../batches/trackers/tracker.ts';
import { siteOfDomain } from '../../operations/brand-analytics/keywords.ts';
import { Facts, StateTag, Tag } from '../kit/elements.tsx';
import { readForm } from '../kit/form-request.ts';
import { Table, tableOf } from '../kit/table.tsx';
import { amount, count, counted, Dash, Time } from '../kit/words.tsx';
import { keywordAddress, ProductLink } from './explore/explore-view.tsx';
import { registerRepeatedWork, timesText, wallClock } from './repeated-work.tsx';
import { screenText } from './screen-text.ts';
import { fieldOf, TrackerForm, trackerBody, trackerForm, valuesOf } from './tracker-form.tsx';

/** Registers the pages of the account's trackers. */
export function registerTrackers(scope: FastifyInstance): void {
  registerRepeatedWork(scope, {
    noun: 'tracker',
    lead: 'A tracker checks products or keywords at set times, or a screen with each imported week, and alerts you.',
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
    ({ conditions, domain, screen }) =>
      screen ? screenText(screen) : conditions.map((one) => conditionText(one, domain)).join('; '),
    'long',
  ],
  [
    'Next check',
    ({ paused, nextRuns, screen }) => {
      if (paused) return <Tag tone="warn">paused</Tag>;
      return screen ? 'next imported week' : <Time at={nextRuns[0]} />;
    },
  ],
  ['Items', ({ items }) => count(items), 'number'],
  ['Units per check', ({ units }) => count(units), 'number'],
  ['Units per day', ({ unitsPerDay }) => amount(unitsPerDay), 'number'],
]);

/** A tracker as its page shows it, with the values of its last check. */
type TrackerPage = TrackerView & { current?: TrackedValue[] };

function TrackerFacts({ of: tracker }: { of: TrackerPage }): VNode {
  return (
    <>
      <Settings of={tracker} />
      {tracker.current && tracker.current.length > 0 && (
        <Current values={tracker.current} domain={tracker.domain} />
      )}
    </>
  );
}

/** The values of the last check, and how far they are from the bounds. */
function Current({ values, domain }: { values: readonly TrackedValue[]; domain: number }): VNode {
  return (
    <>
      <h2>At the last check</h2>
      <Table
        name="Values"
        empty=""
        rows={values}
        columns={[
          [
            'Subject',
            ({ asin, wordId }) =>
              asin === null ? `Keyword ${wordId}` : <ProductLink domain={domain} asin={asin} />,
            'row',
          ],
          ['Condition', ({ condition }) => conditionText(condition, domain), 'long'],
          ['Value', ({ condition, value }) => valueText(condition, value, domain), 'number'],
          ['To the bound', (one) => distanceText(one, domain), 'number'],
          ['State', ({ isMet }) => (isMet ? <Tag tone="good">true</Tag> : <Tag>false</Tag>)],
        ]}
      />
    </>
  );
}

function distanceText({ condition, distance }: TrackedValue, domain: number): VNode | string {
  if (distance === null) return <Dash />;
  const text = valueText(condition, Math.abs(distance), domain);
  return distance === 0 ? text : `${distance > 0 ? '+' : '-'}${text}`;
}

function Settings({ of: tracker }: { of: TrackerView }): VNode {
  const { conditions, domain, cron, timezone, items, subject, units, unitsPerDay, lastRun, webhook } =
    tracker;
  const { screen, lastScreen } = tracker;
  const [next] = tracker.nextRuns;
  return (
    <Facts
      facts={[
        screen && ['Screen', screenText(screen)],
        lastScreen && ['Last run', <LastScreen {...lastScreen} />],
        !screen && [
          'Conditions',
          <ul class="plain">
            {conditions.map((condition) => (
              <li>{conditionText(condition, domain)}</li>
            ))}
          </ul>,
        ],
        !screen && ['Tracks', counted(items, subject === 'products' ? 'product' : 'keyword')],
        ['Times', cron === null ? 'When a week is imported' : `${timesText(cron)}, ${timezone}`],
        next && ['Next check', wallClock(Date.parse(next), timezone)],
        lastRun && ['Last check', <LastCheck run={lastRun} />],
        ['Price', `At most ${counted(units, 'unit')} per check, ${amount(unitsPerDay)} per day on average`],
        !screen && ['Hysteresis', `${tracker.hysteresisPercent} %`],
        !screen && ['Quiet time', counted(tracker.quietHours, 'hour')],
        webhook && ['Webhook', webhook],
        tracker.chat && ['Chat', <Chat {...tracker} />],
        tracker.notify.includes('email') && ['E-mail', 'At most one mail an hour'],
        ['Tracker', <code>{tracker.trackerId}</code>],
      ]}
    />
  );
}

function LastScreen({ week, total, terms, comparedWith, entered, left }: ScreenResult): VNode {
  return (
    <>
      {counted(total, 'term')} in the week of {week}
      {total > terms && `, of which the first ${count(terms)} are compared`}.{' '}
      {comparedWith
        ? `Since the week of ${comparedWith}, ${count(entered)} entered and ${count(left)} left.`
        : 'It was the first run.'}
    </>
  );
}

function Chat({ chat, lastChat }: TrackerView): VNode {
  return (
    <>
      {chat} {lastChat && <StateTag state={lastChat.state} />} {lastChat?.error}
    </>
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
        ['Condition', (alert) => <What alert={alert} domain={domain} />, 'long'],
        ['Before', ({ condition, before }) => valueText(condition, before, domain), 'number'],
        ['After', ({ condition, after }) => valueText(condition, after, domain), 'number'],
      ]}
    />
  );
}

function What({ alert: { condition, reasons }, domain }: { alert: AlertView; domain: number }): VNode {
  const text = conditionText(condition, domain);
  return <>{[text, ...reasons.map(reasonText)].join('; ')}</>;
}

function Subject({ alert: { asin, title }, domain }: { alert: AlertView; domain: number }): VNode | string {
  const site = siteOfDomain(domain);
  if (asin === null) return title && site ? <a href={keywordAddress(site, title)}>{title}</a> : (title ?? '');
  return <ProductLink domain={domain} asin={asin} title={title} />;
}
