import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import type { AlertView } from '../../batches/trackers/alert.ts';
import { conditionText, valueText } from '../../batches/trackers/condition.ts';
import type { ScreenResult } from '../../batches/trackers/screen-check.ts';
import { reasonText } from '../../batches/trackers/screen-reason.ts';
import type { ListedValue } from '../../batches/trackers/tracked-values.ts';
import type { TrackerView } from '../../batches/trackers/tracker.ts';
import { siteOfDomain } from '../../operations/brand-analytics/keywords.ts';
import { Facts, StateTag, Tag } from '../kit/elements.tsx';
import { readForm } from '../kit/form-request.ts';
import { addressOf } from '../kit/list-page.tsx';
import { Sparkline } from '../kit/sparkline.tsx';
import { type Column, Table, tableOf } from '../kit/table.tsx';
import { amount, count, counted, Dash, Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { apiData } from './customer-api.ts';
import {
  allowProductPictures,
  imageHostOf,
  keywordAddress,
  Picture,
  ProductLink,
} from './explore/explore-view.tsx';
import { registerRepeatedWork } from './repeated-work.tsx';
import { screenText } from './screen-text.ts';
import { timesText, WallClock } from './timing-fields.tsx';
import { fieldOf, TrackerForm, trackerBody, trackerForm, valuesOf } from './tracker-form.tsx';

/** Registers the pages of the account's trackers. */
export function registerTrackers(scope: FastifyInstance, pages: Pages): void {
  allowProductPictures(scope, pages);
  registerRepeatedWork(scope, {
    noun: 'tracker',
    lead: 'A tracker checks products or keywords at set times, or a screen with each imported week, and alerts you.',
    List: TrackerTable,
    idOf: ({ trackerId }) => trackerId,
    wide: true,
    runButton: 'Check now',
    afterRun: () => null,
    deleteQuestion: (name) => `Delete ${name} and its alerts?`,
    Facts: Settings,
    More: (request, tracker) => trackedValues(request, pages, tracker),
    files: { styles: ['explore.css'], scripts: ['screener.js'] },
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

/** The values of the last checks of the account's trackers, or of one, with their distance to the bounds. */
async function trackedValues(
  request: FastifyRequest,
  pages: Pages,
  tracker: TrackerView | null,
): Promise<VNode | null> {
  if (tracker?.subject === 'screen') return null;
  const url = addressOf('/api/trackers/values', { tracker: tracker?.trackerId });
  const { values, nextCursor } = await apiData<{ values: ListedValue[]; nextCursor: string | null }>(
    request,
    'GET',
    url,
  );
  if (values.length === 0) return null;
  const place = { host: imageHostOf(pages, request), now: pages.clock.now() };
  return (
    <>
      <h2>{tracker ? 'At the last check' : 'Tracked products and keywords'}</h2>
      {nextCursor !== null && (
        <p class="hint">
          The first{' '}
          {new Set(values.map(({ trackerId, asin, wordId }) => `${trackerId} ${asin ?? wordId}`)).size} are
          shown. {tracker ? 'The API lists all.' : 'The page of each tracker has more.'}
        </p>
      )}
      <Table
        name="Values"
        empty=""
        rows={values}
        columns={valueColumns(values, { ...place, hasTracker: tracker === null })}
      />
    </>
  );
}

/** @param place.hasTracker whether the values are of several trackers, which are named. */
function valueColumns(
  values: readonly ListedValue[],
  { host, now, hasTracker }: { host: string; now: number; hasTracker: boolean },
): Column<ListedValue>[] {
  const isFirst = (one: ListedValue) => {
    const before = values[values.indexOf(one) - 1];
    return before?.trackerId !== one.trackerId || before.asin !== one.asin;
  };
  return [
    ['Tracked', (one) => <Tracked of={one} host={isFirst(one) ? host : null} />, 'row'],
    ['Condition', (one) => <ConditionOf of={one} hasTracker={hasTracker} />, 'long'],
    ['Value', ({ condition, value, domain }) => valueText(condition, value, domain), 'number'],
    ['Changes', (one) => <Changes of={one} now={now} />],
    ['Distance to bound', (one) => <Distance of={one} />, 'number'],
    ['State', ({ isMet }) => (isMet ? <Tag tone="good">met</Tag> : <Tag>not met</Tag>)],
  ];
}

/** A condition, and when which tracker checks it next. */
function ConditionOf({ of, hasTracker }: { of: ListedValue; hasTracker: boolean }): VNode {
  const { condition, domain, trackerId, trackerName, nextCheck } = of;
  return (
    <div>
      {conditionText(condition, domain)}
      {hasTracker && (
        <small class="under">
          <a href={`/account/trackers/${trackerId}`}>{trackerName}</a>
          {nextCheck ? (
            <>
              , next check <Time at={nextCheck} />
            </>
          ) : (
            ', paused'
          )}
        </small>
      )}
    </div>
  );
}

/** A product with its picture, or a keyword. @param props.host of the picture; null: without it. */
function Tracked({ of, host }: { of: ListedValue; host: string | null }): VNode {
  const { asin, wordId, title, image, domain } = of;
  const site = siteOfDomain(domain);
  if (asin === null)
    return title && site ? (
      <a href={keywordAddress(site, title)}>{title}</a>
    ) : (
      <span>{title ?? `Keyword ${wordId}`}</span>
    );
  if (host === null) return <ProductLink domain={domain} asin={asin} />;
  return (
    <div class="tracked">
      <Picture host={host} name={image} size={48} />
      <div>
        <ProductLink domain={domain} asin={asin} title={title} />
        {title && <small>{asin}</small>}
      </div>
    </div>
  );
}

/** How the value has changed, with the bound as a line. */
function Changes({ of, now }: { of: ListedValue; now: number }): VNode {
  const { condition, changes, domain } = of;
  const [first] = changes;
  if (!first) return <Dash />;
  const text = (value: number | null) => valueText(condition, value, domain);
  const since = first.at.slice(0, 10);
  return (
    <Sparkline
      label={`From ${text(first.value)} on ${since} to ${text(changes.at(-1)?.value ?? null)}, ${counted(changes.length - 1, 'change')}`}
      points={changes.map(({ at, value }) => [Date.parse(at), value] as const)}
      until={now}
      bound={condition.type === 'price_drop' ? undefined : condition.value}
      isRank={condition.type.includes('rank')}
    />
  );
}

/** The distance in the unit of the value, and as a share of the bound. */
function Distance({ of: { condition, distance, domain } }: { of: ListedValue }): VNode {
  const { value: bound } = condition;
  if (distance === null || !bound) return <Dash />;
  const text = valueText(condition, Math.abs(distance), domain);
  const sign = distance === 0 ? '' : distance > 0 ? '+' : '-';
  return (
    <div>
      {`${sign}${text}`}
      <small class="under">{`${sign}${count(Math.abs(Math.round((100 * distance) / bound)))} %`}</small>
    </div>
  );
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
        next && ['Next check', <WallClock at={next} timezone={timezone} />],
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
        [
          'Condition',
          ({ condition, reasons }) =>
            [conditionText(condition, domain), ...reasons.map(reasonText)].join('; '),
          'long',
        ],
        ['Before', ({ condition, before }) => valueText(condition, before, domain), 'number'],
        ['After', ({ condition, after }) => valueText(condition, after, domain), 'number'],
      ]}
    />
  );
}

function Subject({ alert: { asin, title }, domain }: { alert: AlertView; domain: number }): VNode | string {
  const site = siteOfDomain(domain);
  if (asin === null) return title && site ? <a href={keywordAddress(site, title)}>{title}</a> : (title ?? '');
  return <ProductLink domain={domain} asin={asin} title={title} />;
}
