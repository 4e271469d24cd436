import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { JOB_STATES, type JobView } from '../../api/job-view.ts';
import { type ExportAnswer, exportWeek } from '../../operations/brand-analytics/export.ts';
import { QUEUED, queuedOperation } from '../../operations/index.ts';
import { ERRORS, SoukError } from '../../platform/errors.ts';
import { stringifyJson } from '../../platform/json.ts';
import { ButtonLink, Facts, StateTag } from '../kit/elements.tsx';
import { Field, FilterForm, PostButton } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { addressOf, type Listed, ListPage, StateChoice } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { count, counted, ShortId, Time } from '../kit/words.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { OperationChoice } from './batch-items.tsx';
import { CallExamples, RepeatLink } from './call-examples.tsx';
import { apiData, apiList, envelopeOf, idIn, sendDownload, streamApi } from './customer-api.ts';
import { linksTo, ResultLinks } from './links.tsx';
import { tryRequest } from './try-request.ts';

const LIST = '/account/jobs';

/** Registers the list of the account's calls of the last day. */
export function registerJobList(scope: FastifyInstance): void {
  scope.get(LIST, async (request, reply) => {
    const list = await apiList<JobView>(request, {
      url: '/api/jobs',
      name: 'jobs',
      filters: ['state', 'operation', 'contains'],
    });
    const hasOpen = list.items.some(({ finishedAt }) => finishedAt === null);
    return sendPage(
      reply,
      <ListPage
        title="Calls"
        lead="Every call is a job. Calls and their answers are kept for 24 hours."
        path={LIST}
        list={list}
        filter={
          <FilterForm path={LIST} values={list.query}>
            <StateChoice states={JOB_STATES} />
            <OperationChoice operations={QUEUED} none="All" />
            <Field name="contains" label="Parameters contain" placeholder="B0C3CDEF01" maxLength={100} />
          </FilterForm>
        }
        refresh={{ id: 'jobs', seconds: hasOpen ? 3 : 15 }}
      >
        <JobTable list={list} />
      </ListPage>,
    );
  });
}

function JobTable({ list }: { list: Listed<JobView> }): VNode {
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
        [
          'Call',
          ({ jobId }) => (
            <a href={`${LIST}/${jobId}`}>
              <ShortId id={jobId} />
            </a>
          ),
        ],
        ['Operation', ({ operation }) => operation],
        ['Parameters', ({ params }) => <span class="long-text">{shortened(params)}</span>],
        ['State', (job) => <JobState job={job} />],
        ['Accepted', ({ createdAt }) => <Time at={createdAt} />],
        ['Duration', durationText],
        ['Units', unitsText, 'number'],
      ]}
    />
  );
}

const SHOWN_CHARACTERS = 120;

/** The parameters of a call on one line. */
function shortened(params: JobView['params']): string {
  if (params === null) return '';
  const text = Object.entries(params)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : stringifyJson(value)}`)
    .join(' ');
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
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

function unitsText({ finishedAt, unitsCharged, unitsReserved }: JobView): string {
  return finishedAt ? count(unitsCharged) : `up to ${count(unitsReserved)}`;
}

/** The time from the acceptance of a job to its end. */
function durationText({ createdAt, finishedAt }: JobView): string {
  if (finishedAt === null) return '-';
  const ms = Date.parse(finishedAt) - Date.parse(createdAt);
  return ms < 10_000 ? `${count(ms)} ms` : `${count(Math.round(ms / 1000))} s`;
}

/** Registers the page of a job: its state, its answer, and a button that cancels it. */
export function registerJobPage(scope: FastifyInstance, pages: Pages): void {
  scope.get(`${LIST}/:id`, (request, reply) => showJob(pages, request, reply));
  scope.get(`${LIST}/:id/result`, sendResult);
  scope.get(`${LIST}/:id/file`, sendExport);
  scope.post(`${LIST}/:id/cancel`, cancelJob);
  scope.post(`${LIST}/:id/again`, runAgain);
}

async function sendResult(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const id = idIn(request);
  return sendDownload(request, reply, { url: `/api/jobs/${id}/result`, name: `souk-${id.slice(-12)}` });
}

async function sendExport(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const id = idIn(request);
  const { file } = await apiData<ExportAnswer>(request, 'GET', `/api/jobs/${id}/result`);
  if (!file) throw new SoukError('FILE_NOT_FOUND');
  return sendDownload(request, reply, { url: file.url, name: `souk-${id.slice(-12)}` });
}

async function cancelJob(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { jobId } = await apiData<JobView>(request, 'DELETE', `/api/jobs/${idIn(request)}`);
  return reply.redirect(`${LIST}/${jobId}`, 303);
}

/** The same call once more, in another program, or on a schedule. */
function RunAgain(props: { job: JobView; baseUrl: string }): VNode | null {
  const { job, baseUrl } = props;
  const { params } = job;
  const operation = queuedOperation(job.operation);
  if (!operation || params === null) return null;
  return (
    <>
      <div class="row">
        <PostButton action={`${LIST}/${job.jobId}/again`}>
          Run again ({counted(operation.price.quote(params), 'unit')})
        </PostButton>
        <RepeatLink title={operation.summary} operation={job.operation} parameters={params} />
      </div>
      <CallExamples name="call" request={tryRequest(operation, params)} baseUrl={baseUrl} />
    </>
  );
}

/** The call of an expired result. Its parameters are unknown if it was answered from the cache. */
interface ExpiredCall {
  operation: string;
  params: Record<string, unknown> | null;
  units: number | null;
}

/** What a finished job has: its answer, or the call of an answer that has expired. */
interface Ended {
  expired: ExpiredCall | null;
  /** The answer, if it names a file. */
  exported: ExportAnswer | null;
}

async function endedJob(request: FastifyRequest, { jobId, operation }: JobView): Promise<Ended> {
  const answer = await streamApi(request, { method: 'GET', url: `/api/jobs/${jobId}/result` });
  if (answer.status === ERRORS.RESULT_EXPIRED.status)
    return { expired: (await envelopeOf(answer)).metadata as unknown as ExpiredCall, exported: null };
  if (operation === exportWeek.name && answer.status === 200)
    return { expired: null, exported: (await envelopeOf(answer)).data as ExportAnswer };
  answer.body.destroy();
  return { expired: null, exported: null };
}

async function runAgain(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const id = idIn(request);
  const { operation, params } = await apiData<JobView>(request, 'GET', `/api/jobs/${id}`);
  const found = queuedOperation(operation);
  if (!found || params === null) return reply.redirect(`${LIST}/${id}`, 303);
  const call = { operation, params, maxUnits: found.price.quote(params) };
  const { jobId } = await apiData<{ jobId: string }>(request, 'POST', '/api/jobs', call);
  return reply.redirect(`${LIST}/${jobId}`, 303);
}

async function showJob(pages: Pages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const job = await apiData<JobView>(request, 'GET', `/api/jobs/${idIn(request)}`);
  const { jobId, operation, state } = job;
  const isOpen = job.finishedAt === null;
  const { expired, exported } =
    state === 'done' ? await endedJob(request, job) : { expired: null, exported: null };
  // A link to an answer that names a file would open the name.
  const linked = exported
    ? ({ target: 'file', id: exported.file.fileId, back: jobId } as const)
    : ({ target: 'job', id: jobId } as const);
  const links = state === 'done' && !expired ? await linksTo(request, linked.id) : null;
  return sendPage(
    reply,
    <Page
      title={`Job ${operation}`}
      back={[LIST, 'All calls']}
      heading={operation}
      styles={['account.css']}
      scripts={['answer.js']}
    >
      <section class="card" id="job" data-refresh={isOpen ? '1' : undefined} aria-label="State">
        <JobFacts job={job} />
        {isOpen && (
          <PostButton
            action={`${LIST}/${jobId}/cancel`}
            confirm="Cancel this job? Its units are released."
            class="danger"
          >
            Cancel
          </PostButton>
        )}
        {isOpen && <noscript>Reload the page to see the progress.</noscript>}
        {state === 'done' && (
          <>
            <h2>Answer</h2>
            {expired && <Expired jobId={jobId} call={expired} />}
            {exported && <Exported jobId={jobId} answer={exported} />}
            {!expired && !exported && (
              <AnswerViewer jobId={jobId} isPicture={queuedOperation(operation)?.respond.type === 'png'} />
            )}
            {links && <ResultLinks {...linked} links={links} />}
          </>
        )}
        {!isOpen && !expired && <RunAgain job={job} baseUrl={baseUrlOf(pages, request)} />}
      </section>
    </Page>,
  );
}

function Expired({ jobId, call: { operation, units } }: { jobId: string; call: ExpiredCall }): VNode {
  if (units === null)
    return (
      <p>
        Expired. The call was answered from the cache, so its parameters are not stored.{' '}
        <a href={addressOf('/account/try', { operation })}>Make another call</a>
      </p>
    );
  return (
    <>
      <p>Expired.</p>
      <PostButton action={`${LIST}/${jobId}/again`} class="primary">
        Fetch again ({counted(units, 'unit')})
      </PostButton>
    </>
  );
}

/** The file that a job has written. */
function Exported({ jobId, answer: { rows, file } }: { jobId: string; answer: ExportAnswer }): VNode {
  return (
    <>
      <Facts
        facts={[
          ['File', file.name],
          ['Rows', count(rows)],
          ['Size', `${count(Math.ceil(file.size / 1000))} KB`],
          ['Kept until', <Time at={file.expiresAt} />],
        ]}
      />
      <p>
        <ButtonLink to={`${LIST}/${jobId}/file`} download>
          Download the file
        </ButtonLink>
      </p>
    </>
  );
}

function JobFacts({ job }: { job: JobView }): VNode {
  const { error, finishedAt } = job;
  return (
    <Facts
      facts={[
        ['State', <State job={job} />],
        error && [
          'Error',
          <>
            <code>{error.code}</code> {error.msg}
          </>,
        ],
        [
          'Units',
          unitsText(job) + (job.state !== 'done' && finishedAt !== null ? ' (reserved units released)' : ''),
        ],
        job.params && [
          'Parameters',
          <dl class="facts">
            {Object.entries(job.params).map(([name, value]) => (
              <>
                <dt>{name}</dt>
                <dd>{typeof value === 'string' ? value : stringifyJson(value)}</dd>
              </>
            ))}
          </dl>,
        ],
        ['Accepted', <Time at={job.createdAt} />],
        ['Started', <Time at={job.startedAt} />],
        [
          'Ended',
          <>
            <Time at={finishedAt} />
            {finishedAt !== null && `, after ${durationText(job)}`}
          </>,
        ],
        ['Job', <code>{job.jobId}</code>],
      ]}
    />
  );
}

function State({ job: { state, progress, position, finishedAt, etaMs } }: { job: JobView }): VNode {
  return (
    <>
      <StateTag state={state} />
      {state === 'running' && <progress max={100} value={progress} aria-label={`${progress} percent`} />}
      {position !== null && <span> {count(position)} ahead in the queue</span>}
      {finishedAt === null && etaMs !== null && <span>, about {count(Math.ceil(etaMs / 1000))} s left</span>}
    </>
  );
}

export function resultPath(jobId: string): string {
  return `/account/jobs/${jobId}/result`;
}

/** The answer of a finished job: a picture, or JSON that a script formats. Without scripts only the download is shown. */
export function AnswerViewer({ jobId, isPicture }: { jobId: string; isPicture: boolean }): VNode {
  const path = resultPath(jobId);
  return (
    <>
      {isPicture ? (
        <p>
          <img class="picture" src={path} alt="The answer of this call" />
        </p>
      ) : (
        <pre class="answer" data-answer={path} hidden>
          <code />
        </pre>
      )}
      <p>
        <ButtonLink to={path} download>
          Download the answer
        </ButtonLink>
      </p>
    </>
  );
}
