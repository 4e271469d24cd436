import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import type { JobView } from '../../../api/job-view.ts';
import { queuedOperation } from '../../../operations/index.ts';
import { PostForm } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.ts';
import { StateTag } from '../../kit/state-tag.tsx';
import { count, Time } from '../../kit/words.tsx';
import { callApi, dataOf } from '../../own-api.ts';
import type { Pages } from '../../pages.ts';
import { customerOf, viewerOf } from '../../session.ts';
import { AnswerViewer } from '../answer-viewer.tsx';
import { passOn } from '../passed-on.ts';
import { tookText } from './job-list.tsx';

/** One job: how it is going, its answer, and the way to end it. */
export function registerJobPage(scope: FastifyInstance, { app }: Pages): void {
  scope.get('/account/jobs/:id', async (request, reply) => {
    const job = dataOf<JobView>(await callApi(callerOf(request), 'GET', apiPathOf(request)));
    const viewer = viewerOf(request, reply);
    const isOpen = job.finishedAt === null;
    return sendPage(
      reply,
      <Page
        title={`Job ${job.operation}`}
        viewer={viewer}
        path="/account/jobs"
        styles={['account.css']}
        scripts={['answer.js']}
      >
        <p>
          <a href="/account/jobs">All jobs</a>
        </p>
        <h1>{job.operation}</h1>
        <section class="card" id="job" data-refresh={isOpen ? '1' : undefined} aria-label="State">
          <JobFacts job={job} />
          {isOpen && (
            <PostForm
              action={`/account/jobs/${job.jobId}/cancel`}
              csrf={reply.generateCsrf()}
              confirm="Cancel this job? Its units come back."
            >
              <button type="submit" class="danger">
                Cancel
              </button>
            </PostForm>
          )}
          {isOpen && <noscript>Reload the page to see how it goes on.</noscript>}
          {job.state === 'done' && (
            <>
              <h2>Answer</h2>
              <AnswerViewer
                jobId={job.jobId}
                isPicture={queuedOperation(job.operation)?.respond.type === 'png'}
              />
            </>
          )}
        </section>
      </Page>,
    );
  });

  scope.get('/account/jobs/:id/result', async (request, reply) => {
    const { id } = request.params as { id: string };
    const path = `${apiPathOf(request)}/result`;
    return passOn(request, reply, callerOf(request), { path, name: `souk-${id.slice(-12)}` });
  });

  scope.post('/account/jobs/:id/cancel', async (request, reply) => {
    const job = dataOf<JobView>(await callApi(callerOf(request), 'DELETE', apiPathOf(request)));
    return reply.redirect(`/account/jobs/${job.jobId}`, 303);
  });

  function callerOf(request: FastifyRequest) {
    return { app, apiKey: customerOf(request).apiKey };
  }
}

function apiPathOf(request: FastifyRequest): string {
  return `/api/jobs/${encodeURIComponent((request.params as { id: string }).id)}`;
}

function JobFacts({ job }: { job: JobView }): VNode {
  const { state, progress, position, etaMs } = job;
  return (
    <dl class="facts">
      <dt>State</dt>
      <dd>
        <StateTag state={state} />
        {state === 'running' && <progress max={100} value={progress} aria-label={`${progress} percent`} />}
        {position !== null && <span> {count(position)} go before it</span>}
        {job.finishedAt === null && etaMs !== null && (
          <span>, done in about {count(Math.ceil(etaMs / 1000))} s</span>
        )}
      </dd>
      {job.error && (
        <>
          <dt>Error</dt>
          <dd>
            <code>{job.error.code}</code> {job.error.msg}
          </dd>
        </>
      )}
      <dt>Units</dt>
      <dd>
        {job.finishedAt ? count(job.unitsCharged) : `up to ${count(job.unitsReserved)}`}
        {job.state !== 'done' && job.finishedAt !== null && ' (given back)'}
      </dd>
      <dt>Accepted</dt>
      <dd>
        <Time at={job.createdAt} />
      </dd>
      <dt>Started</dt>
      <dd>
        <Time at={job.startedAt} />
      </dd>
      <dt>Ended</dt>
      <dd>
        <Time at={job.finishedAt} />
        {job.finishedAt !== null && `, after ${tookText(job)}`}
      </dd>
      <dt>Job</dt>
      <dd>
        <code>{job.jobId}</code>
      </dd>
    </dl>
  );
}
