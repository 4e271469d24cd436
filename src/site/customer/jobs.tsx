import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { listKeys } from '../../accounts/account-keys.ts';
import { JOB_STATES, type JobView } from '../../api/job-view.ts';
import { errorGroups, MOST_ERRORS_READ } from '../../billing/statement.ts';
import { QUEUED } from '../../operations/index.ts';
import type { Database } from '../../platform/db/pool.ts';
import { DAY_MS, HOUR_MS } from '../../platform/durations.ts';
import { ERRORS, type ErrorKind, isErrorKind } from '../../platform/errors.ts';
import { stringifyJson } from '../../platform/json.ts';
import { solutionOf } from '../docs/guides.ts';
import { ButtonLink, Segments, StateTag } from '../kit/elements.tsx';
import { Choice, Field, FilterForm, withZone } from '../kit/form.tsx';
import { type FormValues, readValues } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { addressOf, type Listed, ListPage, StateChoice } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { count, IdLink, Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { OperationChoice } from './batch-items.tsx';
import { apiList } from './customer-api.ts';

export const CALLS_PATH = '/account/jobs';

const ERRORS_PATH = `${CALLS_PATH}/errors`;

const FILTERS = ['state', 'operation', 'contains', 'keyId', 'within', 'from', 'to'];

/** How far a list goes back, by the value of the field `within`. */
const PERIODS: Readonly<Record<string, readonly [text: string, ms: number]>> = {
  hour: ['Last hour', HOUR_MS],
  day: ['Last 24 hours', DAY_MS],
};

/** Registers the list of the account's calls of the last days. */
export function registerJobList(scope: FastifyInstance, { database, clock }: Pages): void {
  scope.get(CALLS_PATH, async (request, reply) => {
    const asked = readValues(request.query);
    const [list, names] = await Promise.all([
      apiList<JobView>(request, {
        url: '/api/jobs',
        name: 'jobs',
        filters: FILTERS,
        sent: periodOf(asked, clock.now()),
      }),
      keyNamesOf(database, customerOf(request).accountId, clock.now()),
    ]);
    const hasOpen = list.items.some(({ finishedAt }) => finishedAt === null);
    return sendPage(
      reply,
      <ListPage
        title="Calls"
        lead="Every call is a job. Calls are listed for 7 days, and their answers are kept for 24 hours."
        path={CALLS_PATH}
        list={list}
        intro={<CallTabs current={CALLS_PATH} />}
        filter={<CallFilter values={list.query} keys={[...names]} />}
        refresh={{ id: 'jobs', seconds: hasOpen ? 3 : 15 }}
      >
        <JobTable list={list} names={names} />
      </ListPage>,
    );
  });
}

/** The links between the calls and their errors. */
function CallTabs({ current }: { current: string }): VNode {
  const tabs = [
    [CALLS_PATH, 'All calls'],
    [ERRORS_PATH, 'Errors'],
  ] as const;
  return (
    <Segments name="Calls" current="page" links={tabs.map(([to, text]) => [to, text, to === current])} />
  );
}

function CallFilter(props: {
  values: FormValues;
  keys: readonly (readonly [id: number, name: string])[];
}): VNode {
  const { values, keys } = props;
  const isFiltered = FILTERS.some((name) => values[name]);
  return (
    <FilterForm
      path={CALLS_PATH}
      values={values}
      links={isFiltered && <ButtonLink to={CALLS_PATH}>All calls</ButtonLink>}
    >
      <StateChoice states={JOB_STATES} />
      <OperationChoice operations={QUEUED} none="All" />
      <Field name="contains" label="Parameters contain" placeholder="B0C3CDEF01" maxLength={100} />
      {keys.length > 0 && (
        <Choice
          name="keyId"
          label="Key"
          options={[['', 'All'], ...keys.map(([id, name]) => [String(id), name] as const)]}
        />
      )}
      <Choice
        name="within"
        label="Accepted"
        options={[
          ['', 'Last 7 days'],
          ...Object.entries(PERIODS).map(([value, [text]]) => [value, text] as const),
        ]}
      />
      <Field name="from" label="From (UTC)" type="datetime-local" />
      <Field name="to" label="To (UTC)" type="datetime-local" />
    </FilterForm>
  );
}

/** The period of a list for the API. */
function periodOf({ within = '', from, to }: FormValues, now: number): FormValues {
  const [, ms] = PERIODS[within] ?? [];
  const earliest = ms === undefined ? undefined : new Date(now - ms).toISOString();
  return { from: withZone(from) || earliest, to: withZone(to) };
}

function JobTable({ list, names }: { list: Listed<JobView>; names: KeyNames }): VNode {
  const empty = (
    <>
      <p>No calls found{list.next ? ' on this page' : ''}.</p>
      <ButtonLink to="/account/try">Try a call</ButtonLink>
    </>
  );
  return (
    <Table
      name="Calls"
      empty={empty}
      rows={list.items}
      columns={[
        ['Call', ({ jobId }) => <IdLink to={`${CALLS_PATH}/${jobId}`} id={jobId} />],
        [
          'Operation',
          ({ operation, params }) => (
            <>
              {operation}
              <small class="under muted">{shortened(params)}</small>
            </>
          ),
          'long',
        ],
        ['State', (job) => <JobState job={job} />],
        ['Accepted', ({ createdAt }) => <Time at={createdAt} />],
        ['Duration', durationText],
        ['Key', ({ keyId }) => keyName(keyId, names)],
        ['Units', unitsText, 'number'],
      ]}
    />
  );
}

export type KeyNames = ReadonlyMap<number, string>;

/** Returns the names of an account's keys. */
export async function keyNamesOf(database: Database, accountId: number, now: number): Promise<KeyNames> {
  const keys = await listKeys(database, accountId, now);
  return new Map(keys.map(({ id, name, prefix }) => [id, name ? `${name} (${prefix})` : prefix]));
}

/** The name of the key of a call. */
export function keyName(keyId: number | null, names: KeyNames): string {
  return keyId === null ? 'Pages' : (names.get(keyId) ?? `Key ${keyId}`);
}

const SHOWN_CHARACTERS = 120;

/** The parameters of a call on one line, without those that are off. */
function shortened(params: JobView['params']): string {
  if (params === null) return '';
  const text = Object.entries(params)
    .filter(([, value]) => value !== false && value !== 0 && value !== null)
    .map(([name, value]) => `${name}=${parameterText(value)}`)
    .join(' ');
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

/** A value of a parameter: a list of texts without brackets, other values as JSON. */
export function parameterText(value: unknown): string {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(',');
  return typeof value === 'string' ? value : stringifyJson(value);
}

function JobState({ job: { state, progress, operation, error } }: { job: JobView }): VNode {
  return (
    <>
      <StateTag state={state} />
      {state === 'running' && (
        <progress max={100} value={progress} aria-label={`${operation}: ${progress} percent`} />
      )}
      {error && <small class="muted"> {error.code}</small>}
    </>
  );
}

export function unitsText({ finishedAt, unitsCharged, unitsReserved }: JobView): string {
  return finishedAt ? count(unitsCharged) : `up to ${count(unitsReserved)}`;
}

/** The time from the acceptance of a job to its end. */
export function durationText({ createdAt, finishedAt }: JobView): string {
  return finishedAt === null ? '-' : msText(Date.parse(finishedAt) - Date.parse(createdAt));
}

/** 840 -> 840 ms, 12340 -> 12 s. */
export function msText(ms: number): string {
  // With a space at which no line breaks.
  return ms < 10_000 ? `${count(ms)}\u00a0ms` : `${count(Math.round(ms / 1000))}\u00a0s`;
}

const ERROR_PERIODS = [
  ['1', '24 hours'],
  ['7', '7 days'],
] as const;

/** Registers the page of the errors with which the account's calls have ended, by code and operation. */
export function registerCallErrors(scope: FastifyInstance, { database, clock }: Pages): void {
  scope.get(ERRORS_PATH, async (request, reply) => {
    const { days } = readValues(request.query);
    const [chosen, text] = ERROR_PERIODS.find(([value]) => value === days) ?? ERROR_PERIODS[0];
    const since = clock.now() - Number(chosen) * DAY_MS;
    const groups = await errorGroups(database, customerOf(request).accountId, since);
    return sendPage(
      reply,
      <Page title="Errors of calls" heading={null} styles={['account.css']} wide>
        <h1>Calls</h1>
        <p class="lead">
          Calls that failed, by error and operation. A failed call costs nothing: its units are released.
        </p>
        <div class="row">
          <CallTabs current={ERRORS_PATH} />
          <Segments
            name="Period"
            class="push"
            current="true"
            links={ERROR_PERIODS.map(([value, name]) => [
              addressOf(ERRORS_PATH, { days: value }),
              name,
              value === chosen,
            ])}
          />
        </div>
        <Table
          name="Errors"
          empty={`No call has failed in the last ${text}.`}
          rows={groups}
          columns={[
            ['Error', ({ kind }) => <ErrorCode kind={kind} />],
            [
              'Operation',
              ({ operation }) => (
                <a href={addressOf(CALLS_PATH, { state: 'failed', operation })}>{operation}</a>
              ),
            ],
            ['Calls', ({ calls }) => count(calls), 'number'],
            ['In batches', ({ inBatches }) => count(inBatches), 'number'],
            [
              'Last',
              ({ lastAt, lastCallId }) => (
                <a href={`${CALLS_PATH}/${lastCallId}`}>
                  <Time at={lastAt} />
                </a>
              ),
            ],
            ['Last message', ({ message }) => message, 'long'],
            ['What to do', ({ kind }) => <Advice kind={kind} />, 'long'],
          ]}
        />
        <p class="hint">
          A refused request, such as one with an invalid parameter or without enough units, makes no call and
          is not listed here: its answer has the reason. At most the newest {count(MOST_ERRORS_READ)} failed
          calls are grouped. Cancelled calls are not errors.
        </p>
      </Page>,
    );
  });
}

/** The code of an error, with its description in the documentation. */
export function ErrorCode({ kind }: { kind: string }): VNode {
  const { code } = ERRORS[knownKind(kind)];
  return (
    <a href={`/docs/errors#${code.toLowerCase()}`}>
      <code>{code}</code>
    </a>
  );
}

/** What a customer can do about an error. */
export function Advice({ kind }: { kind: string }): VNode {
  // From a file of this repository, not from input.
  return <span dangerouslySetInnerHTML={{ __html: solutionOf(ERRORS[knownKind(kind)].code) }} />;
}

/** A newer version may have stored a kind that this one does not know. */
function knownKind(kind: string): ErrorKind {
  return isErrorKind(kind) ? kind : 'INTERNAL';
}
