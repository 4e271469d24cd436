import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { cronProblem, nextRuns } from '../../batches/schedules/cron.ts';
import { DEFAULT_RUN_HOURS } from '../../batches/schedules/read-schedule.ts';
import type { RunView } from '../../batches/schedules/run.ts';
import type { ScheduleView } from '../../batches/schedules/schedule.ts';
import { QUEUED } from '../../operations/index.ts';
import { isTimeZone } from '../../platform/time-zone.ts';
import { ANSWER, Facts, StateTag, Tag } from '../kit/elements.tsx';
import { CheckAndSaveButtons, CheckBox, Choice, Field, Fields, PostForm } from '../kit/form.tsx';
import type { FormValues } from '../kit/form-request.ts';
import { optional } from '../kit/list-page.tsx';
import { tableOf } from '../kit/table.tsx';
import { count, counted, Dash, IdLink, Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import {
  type BatchItems,
  BatchItemsFields,
  batchOperation,
  ChooseOperation,
  fieldsOf,
  optionalNumber,
  readBatchForm,
  WINDOWS,
  windowText,
} from './batch-items.tsx';
import { callApi, idIn } from './customer-api.ts';
import { registerRepeatedWork, type WorkForm } from './repeated-work.tsx';
import { cronOf, TimingFields, timesText, timingShape, timingValues, WallClock } from './timing-fields.tsx';

/** Registers the pages of the account's schedules. */
export function registerSchedules(scope: FastifyInstance, { clock }: Pages): void {
  registerRepeatedWork<ScheduleView, ScheduleInput, RunView>(scope, {
    noun: 'schedule',
    lead: 'A schedule creates batches at set times in your time zone, with all results or only the changes.',
    List: ScheduleTable,
    idOf: ({ scheduleId }) => scheduleId,
    // The batches of a tracker link here.
    async elsewhere(request) {
      const { status } = await callApi(request, 'GET', `/api/trackers/${idIn(request)}`);
      return status === 200 ? `/account/trackers/${idIn(request)}` : null;
    },
    runButton: 'Run now',
    afterRun(answer) {
      const { batchId } = (answer as { run: RunView }).run;
      return batchId && `/account/batches/${batchId}`;
    },
    deleteQuestion: (name) => `Delete ${name}? The results of its runs are kept.`,
    Facts: ScheduleFacts,
    past: { name: 'runs', title: 'Runs', limit: 20, Table: RunTable },
    // A schedule that is changed keeps its items if the form has none.
    read: (body, isNew) => readBatchForm(scheduleForm, body, ({ items }) => !isNew && !items?.trim()),
    body: scheduleBody,
    valuesOf,
    fieldOf: fieldsOf(scheduleForm),
    Form: (props) => <ScheduleForm {...props} now={clock.now()} />,
  });
}

const ScheduleTable = tableOf<ScheduleView>('Schedules', 'No schedules yet.', [
  ['Schedule', ({ scheduleId, name }) => <a href={`/account/schedules/${scheduleId}`}>{name}</a>],
  ['Operation', ({ operation }) => operation],
  ['Times', (schedule) => <Times {...schedule} />],
  [
    'Next run',
    ({ paused, nextRuns }) => (paused ? <Tag tone="warn">paused</Tag> : <Time at={nextRuns[0]} />),
  ],
  ['Items', ({ items }) => count(items), 'number'],
  ['Units per run', ({ units }) => count(units), 'number'],
]);

function ScheduleFacts({ of: schedule }: { of: ScheduleView }): VNode {
  const { operation, items, units, maxUnits, runHours, window, onlyChanges, mailResults, webhook } = schedule;
  return (
    <Facts
      facts={[
        ['Times', <Times {...schedule} />],
        ['Next runs', <NextRuns schedule={schedule} />],
        ['Operation', operation],
        [
          'Each run',
          `${counted(items, 'item')}, at most ${counted(units, 'unit')}, ${counted(runHours, 'hour')}`,
        ],
        maxUnits !== null && ['Maximum units per run', count(maxUnits)],
        ['Hours', windowText(window)],
        ['Results', onlyChanges ? 'Only changes since the previous run' : 'All results'],
        mailResults && ['Mail', 'A link to the results when a run ends'],
        webhook && ['Webhook', webhook],
        ['Schedule', <code>{schedule.scheduleId}</code>],
      ]}
    />
  );
}

function Times({ cron, timezone }: Pick<ScheduleView, 'cron' | 'timezone'>): VNode {
  return (
    <>
      {timesText(cron)} <small class="muted">{timezone}</small>
    </>
  );
}

function NextRuns({ schedule: { paused, nextRuns, timezone } }: { schedule: ScheduleView }): VNode {
  return (
    <>
      {paused && 'The schedule does not run while it is paused.'}
      <ul class="plain">
        {nextRuns.map((at) => (
          <li key={at}>
            <WallClock at={at} timezone={timezone} />
          </li>
        ))}
      </ul>
    </>
  );
}

const TRIGGERS: Record<RunView['trigger'], string> = {
  tick: 'Schedule',
  missed: 'Schedule (late)',
  manual: 'Manual',
};

const RunTable = tableOf<RunView>('Runs', 'No runs yet.', [
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
  [
    'Batch',
    ({ batchId }) => (batchId ? <IdLink to={`/account/batches/${batchId}`} id={batchId} /> : <Dash />),
  ],
]);

function ScheduleForm(props: WorkForm<ScheduleView> & { now: number }): VNode {
  const { action, form, present, checked, isSent, now } = props;
  const runs = isSent ? nextRunsOf(form.values, now) : null;
  const operation = batchOperation(form.values);
  const items = <BatchItemsFields operation={operation} form={form} />;
  return (
    <>
      {!present && <ChooseOperation path={action} operation={operation} operations={QUEUED} />}
      <PostForm action={action} form={form}>
        <fieldset>
          <legend>Timing</legend>
          <div class="fields">
            <Field name="name" label="Name" maxLength={200} />
            <TimingFields preset="weekly" isNew={!present && !isSent} />
            <Choice name="window" label="Hours" options={WINDOWS} />
          </div>
        </fieldset>
        {present ? (
          <details>
            <summary>Replace the items and parameters</summary>
            <p class="hint">{keepsText(present)}</p>
            {items}
          </details>
        ) : (
          items
        )}
        <fieldset>
          <legend>Options</legend>
          <div class="fields">
            <CheckBox name="onlyChanges" label="Only changes since the previous run" />
            <CheckBox name="mailResults" label="Mail a link to the results when a run ends" />
            <Fields
              rows={[
                [
                  'runHours',
                  'Hours until a run expires',
                  { type: 'number', min: 1, placeholder: String(DEFAULT_RUN_HOURS) },
                ],
                [
                  'maxUnits',
                  'Maximum units per run',
                  { type: 'number', min: 0, hint: 'A run that could cost more is refused.' },
                ],
                ['webhook', 'Webhook', { type: 'url', hint: 'Called when a run finishes.' }],
              ]}
            />
          </div>
        </fieldset>
        {runs && <Check runs={runs} checked={checked} timezone={form.values.timezone?.trim() || 'UTC'} />}
        <CheckAndSaveButtons />
      </PostForm>
      {present && (
        <details>
          <summary>Use another operation</summary>
          <ChooseOperation path={action} operation={operation} operations={QUEUED} />
        </details>
      )}
    </>
  );
}

function keepsText({ items, operation }: ScheduleView): string {
  return `This schedule has ${counted(items, 'item')} of ${operation}. Without items here, it keeps them and their parameters.`;
}

/** The next runs and the price of a schedule that was not saved. */
function Check(props: { runs: readonly number[]; checked: ScheduleView | null; timezone: string }): VNode {
  const { runs, checked: price, timezone } = props;
  return (
    <section class={`notice ${price ? 'good' : 'warn'}`} aria-labelledby="check" {...ANSWER}>
      <h2 id="check">Next runs</h2>
      <ol class="steps">
        {runs.map((at) => (
          <li key={at}>
            <WallClock at={at} timezone={timezone} />
          </li>
        ))}
      </ol>
      <p>
        {price
          ? `Each run costs at most ${counted(price.units, 'unit')} for ${counted(price.items, 'item')}. The schedule has not been saved.`
          : 'Correct the errors above. The schedule has not been saved.'}
      </p>
    </section>
  );
}

const RUNS_SHOWN = 5;

/** The fields of a schedule besides its operation and items. The API validates their values. */
const scheduleForm = z.object({
  name: z.string().trim().default(''),
  ...timingShape,
  window: optional(z.string()),
  onlyChanges: z.string().default('false'),
  mailResults: z.string().default('false'),
  runHours: optionalNumber,
  maxUnits: optionalNumber,
  webhook: z.string().trim().default(''),
});

type ScheduleInput = z.output<typeof scheduleForm> & { batchItems: BatchItems | null };

/** The body of a request that creates or changes a schedule. */
function scheduleBody(input: ScheduleInput) {
  const { name, timezone, batchItems, maxUnits, webhook, onlyChanges, mailResults, runHours, window } = input;
  const ofRuns = { maxUnits: maxUnits ?? null, webhook: webhook === '' ? null : webhook };
  return {
    name,
    timezone,
    cron: cronOf(input),
    onlyChanges: onlyChanges === 'true',
    mailResults: mailResults === 'true',
    ...(window ? { window } : {}),
    runHours: runHours ?? DEFAULT_RUN_HOURS,
    ...(batchItems ? { batch: { ...batchItems, ...ofRuns } } : ofRuns),
  };
}

/** The values of the form of an existing schedule. Its items are not shown. */
function valuesOf(schedule: ScheduleView): FormValues {
  const { name, cron, timezone, window, onlyChanges, mailResults, runHours, maxUnits, webhook, operation } =
    schedule;
  return {
    name,
    ...timingValues(cron, timezone),
    window,
    operation,
    onlyChanges: String(onlyChanges),
    mailResults: String(mailResults),
    runHours: String(runHours),
    maxUnits: maxUnits === null ? '' : String(maxUnits),
    webhook: webhook ?? '',
  };
}

/** The next runs of a form, in Unix milliseconds, even if other fields are not valid; null without a valid pattern. */
function nextRunsOf(values: FormValues, now: number): readonly number[] | null {
  const timing = { cron: cronOf(values).trim(), timezone: values.timezone?.trim() || 'UTC' };
  if (!isTimeZone(timing.timezone) || cronProblem(timing, now) !== null) return null;
  return nextRuns(timing, now, RUNS_SHOWN);
}
