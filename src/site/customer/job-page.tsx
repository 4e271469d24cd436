import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import type { JobView } from '../../api/job-view.ts';
import { type Call, findCall } from '../../billing/calls.ts';
import { type Draw, drawsOf } from '../../billing/statement.ts';
import { type ExportAnswer, exportWeek } from '../../operations/brand-analytics/export.ts';
import { priceAgain, type QueuedOperation } from '../../operations/define.ts';
import { queuedOperation } from '../../operations/index.ts';
import { formOf, withFormApart } from '../../operations/params/answer-form.ts';
import { tablesMade } from '../../operations/tables/tables.ts';
import { ERRORS, SoukError } from '../../platform/errors.ts';
import { ButtonLink, Card, Facts, StateTag } from '../kit/elements.tsx';
import { PostButton } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { addressOf } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { count, counted, Time } from '../kit/words.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { InOtherPrograms, RepeatLink } from './call-examples.tsx';
import { TimeLine, UnitsWhy, waysOf } from './call-story.tsx';
import { apiData, envelopeOf, idIn, sendDownload, streamApi } from './customer-api.ts';
import {
  Advice,
  CALLS_PATH,
  durationText,
  ErrorCode,
  type KeyNames,
  keyName,
  keyNamesOf,
  parameterText,
  unitsText,
} from './jobs.tsx';
import { linksTo, ResultLinks } from './links.tsx';
import { type TryRequest, tryRequest, withOption } from './try-request.ts';

/** Registers the page of a job: its request, its state, its answer, its price, and buttons that cancel it or run it again. */
export function registerJobPage(scope: FastifyInstance, pages: Pages): void {
  const path = `${CALLS_PATH}/:id`;
  scope.get(path, (request, reply) => showJob(pages, request, reply));
  scope.get(`${path}/result`, async (request, reply) => {
    const id = idIn(request);
    return sendDownload(request, reply, { url: `/api/jobs/${id}/result`, name: `souk-${id.slice(-12)}` });
  });
  scope.get(`${path}/file`, async (request, reply) => {
    const id = idIn(request);
    const { file } = await apiData<ExportAnswer>(request, 'GET', `/api/jobs/${id}/result`);
    if (!file) throw new SoukError('FILE_NOT_FOUND');
    return sendDownload(request, reply, { url: file.url, name: `souk-${id.slice(-12)}` });
  });
  scope.post(`${path}/cancel`, async (request, reply) => {
    const { jobId } = await apiData<JobView>(request, 'DELETE', `/api/jobs/${idIn(request)}`);
    return reply.redirect(`${CALLS_PATH}/${jobId}`, 303);
  });
  scope.post(`${path}/again`, async (request, reply) => {
    const id = idIn(request);
    const { operation, params, unitsReserved } = await apiData<JobView>(request, 'GET', `/api/jobs/${id}`);
    const found = queuedOperation(operation);
    if (!found || params === null) return reply.redirect(`${CALLS_PATH}/${id}`, 303);
    const maxUnits = priceAgain(found, params, unitsReserved);
    const call = withFormApart(params).form
      ? withOption(requestOf(found, params), `async=1&maxUnits=${maxUnits}`)
      : ({ method: 'POST', url: '/api/jobs', body: { operation, params, maxUnits } } as const);
    const { jobId } = await apiData<{ jobId: string }>(request, call.method, call.url, call.body);
    return reply.redirect(`${CALLS_PATH}/${jobId}`, 303);
  });
}

/** Returns the request of a call, which has the form of a table in its query. */
function requestOf(operation: QueuedOperation, stored: Record<string, unknown>): TryRequest {
  const { params, form } = withFormApart(stored);
  const request = tryRequest(operation, params);
  return form ? withOption(request, `format=${form.format}&table=${form.table}`) : request;
}

/** The call of an expired result. */
const expiredCall = z.object({ operation: z.string(), units: z.number().nullable() });

type ExpiredCall = z.output<typeof expiredCall>;

/** The answer of a call that is done: expired, or with the time at which its data was fetched. */
type StoredAnswer =
  | { expired: ExpiredCall }
  | {
      expired: null;
      fetchedAt: string | undefined;
      /** The answer, if it names a file. */
      exported: ExportAnswer | null;
    };

async function storedAnswerOf(request: FastifyRequest, { jobId, operation }: JobView): Promise<StoredAnswer> {
  const answer = await streamApi(request, { method: 'GET', url: `/api/jobs/${jobId}/result` });
  if (answer.status === ERRORS.RESULT_EXPIRED.status)
    return { expired: expiredCall.parse((await envelopeOf(answer)).metadata) };
  const fetchedAt = answer.header('last-modified');
  if (operation === exportWeek.name && answer.status === 200)
    return { expired: null, fetchedAt, exported: (await envelopeOf(answer)).data as ExportAnswer };
  answer.body.destroy();
  return { expired: null, fetchedAt, exported: null };
}

/** Everything that the page of a call shows. */
interface Shown {
  job: JobView;
  call: Call;
  draws: readonly Draw[];
  keyNames: KeyNames;
  /** null: the call is not done. */
  answer: StoredAnswer | null;
}

async function showJob(pages: Pages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { database, clock } = pages;
  const { accountId } = customerOf(request);
  const job = await apiData<JobView>(request, 'GET', `/api/jobs/${idIn(request)}`);
  const { jobId, operation, state } = job;
  const call = await findCall(database, accountId, jobId);
  if (!call) throw new SoukError('JOB_NOT_FOUND');
  const answer = state === 'done' ? await storedAnswerOf(request, job) : null;
  const exported = answer && !answer.expired ? answer.exported : null;
  // A link to an answer that names a file would open the name.
  const linked = exported
    ? ({ target: 'file', id: exported.file.fileId, back: jobId } as const)
    : ({ target: 'job', id: jobId } as const);
  const hasAnswer = answer !== null && !answer.expired;
  const [draws, keyNames, links] = await Promise.all([
    drawsOf(database, accountId, call),
    keyNamesOf(database, accountId, clock.now()),
    hasAnswer ? linksTo(request, linked.id) : [],
  ]);
  const isOpen = job.finishedAt === null;
  return sendPage(
    reply,
    <Page
      title={`Call ${operation}`}
      back={[CALLS_PATH, 'All calls']}
      heading={operation}
      styles={['account.css']}
      scripts={['answer.js']}
    >
      <div id="job" data-refresh={isOpen ? '1' : undefined}>
        <JobCard shown={{ job, call, draws, keyNames, answer }} />
        <RequestCard
          job={job}
          baseUrl={baseUrlOf(pages, request)}
          isRepeatable={!isOpen && !answer?.expired}
        />
        {answer && (
          <Card id="answer" title="Answer">
            {answer.expired && <Expired jobId={jobId} call={answer.expired} />}
            {exported && <Exported jobId={jobId} answer={exported} />}
            {hasAnswer && !exported && (
              <AnswerViewer jobId={jobId} isPicture={queuedOperation(operation)?.respond.type === 'png'} />
            )}
            {hasAnswer && <ResultLinks {...linked} links={links} tables={exported ? [] : tablesOf(call)} />}
          </Card>
        )}
        <Card id="time-line" title="Time line">
          <TimeLine call={call} />
        </Card>
      </div>
    </Page>,
  );
}

/** The tables of an answer in JSON. */
function tablesOf({ operation: name, input }: Call): string[] {
  const operation = queuedOperation(name);
  const isJson = operation?.respond.type === 'json' && formOf(input).format === undefined;
  return isJson && input !== null ? tablesMade(operation, input) : [];
}

/** State, price and origin of a call. */
function JobCard({ shown }: { shown: Shown }): VNode {
  const { job, call, draws, keyNames, answer } = shown;
  const { jobId, finishedAt } = job;
  const { error } = call;
  const fetchedAt = answer && !answer.expired ? answer.fetchedAt : undefined;
  return (
    <section class="card" aria-label="State">
      <Facts
        facts={[
          ['State', <State job={job} />],
          error && [
            'Error',
            <>
              <ErrorCode kind={error.kind} /> {error.message}
            </>,
          ],
          error && error.kind !== 'CANCELLED' && ['What to do', <Advice kind={error.kind} />],
          [
            'Units',
            <>
              {unitsText(job)}
              <UnitsWhy call={call} draws={draws} />
            </>,
          ],
          job.state === 'done' && [
            'Answered from',
            <>
              {waysOf(call)}
              {fetchedAt !== undefined && (
                <>
                  {' '}
                  Its oldest data was fetched at <Time at={fetchedAt} />.
                </>
              )}
            </>,
          ],
          ['Key', keyName(job.keyId, keyNames)],
          [
            'Accepted',
            <>
              <Time at={job.createdAt} />
              {finishedAt !== null && `, ended after ${durationText(job)}`}
            </>,
          ],
          ['Job', <code>{jobId}</code>],
        ]}
      />
      {finishedAt === null && (
        <>
          <PostButton
            action={`${CALLS_PATH}/${jobId}/cancel`}
            confirm="Cancel this job? Its units are released."
            class="danger"
          >
            Cancel
          </PostButton>
          <noscript>Reload the page to see the progress.</noscript>
        </>
      )}
    </section>
  );
}

/** The parameters of a call, and the same call once more, in another program, or on a schedule. */
function RequestCard(props: { job: JobView; baseUrl: string; isRepeatable: boolean }): VNode {
  const { job, baseUrl, isRepeatable } = props;
  const { params, unitsReserved } = job;
  const operation = queuedOperation(job.operation);
  return (
    <Card id="request" title="Request">
      {params === null ? (
        <p>The parameters of calls that are answered from the cache are not stored.</p>
      ) : (
        <Facts
          facts={Object.entries(params).map(([name, value]) => [<code>{name}</code>, parameterText(value)])}
        />
      )}
      {params !== null && operation && (
        <>
          <div class="row">
            {isRepeatable && (
              <PostButton action={`${CALLS_PATH}/${job.jobId}/again`}>
                Run again ({counted(priceAgain(operation, params, unitsReserved), 'unit')})
              </PostButton>
            )}
            <RepeatLink
              title={operation.summary}
              operation={job.operation}
              parameters={withFormApart(params).params}
            />
          </div>
          <InOtherPrograms name="call" request={requestOf(operation, params)} baseUrl={baseUrl} />
        </>
      )}
    </Card>
  );
}

function Expired({ jobId, call: { operation, units } }: { jobId: string; call: ExpiredCall }): VNode {
  return units === null ? (
    <p>
      This answer has expired. The call was answered from the cache, so its parameters are not stored.{' '}
      <a href={addressOf('/account/try', { operation })}>Make another call</a>
    </p>
  ) : (
    <>
      <p>This answer has expired. Answers are kept for at most 24 hours.</p>
      <PostButton action={`${CALLS_PATH}/${jobId}/again`} class="primary">
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
        <ButtonLink to={`${CALLS_PATH}/${jobId}/file`} download>
          Download the file
        </ButtonLink>
      </p>
    </>
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
