import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { JOB_STATES, type JobView } from '../../../api/job-view.ts';
import { QUEUED } from '../../../operations/index.ts';
import { Choice, readForm } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { addressOf, MorePages, optional } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.ts';
import { StateTag } from '../../kit/state-tag.tsx';
import { Table } from '../../kit/table.tsx';
import { count, Time } from '../../kit/words.tsx';
import { callApi, dataOf } from '../../own-api.ts';
import type { Pages } from '../../pages.ts';
import { customerOf, viewerOf } from '../../session.ts';
import { OperationChoice } from '../operation-choice.tsx';

const PATH = '/account/jobs';

const JOBS_A_PAGE = '25';

const filter = z.object({
  state: optional(z.string()),
  operation: optional(z.string()),
  cursor: optional(z.string()),
});

/** The calls of the last day, whoever made them and however they end. */
export function registerJobList(scope: FastifyInstance, { app }: Pages): void {
  scope.get(PATH, async (request, reply) => {
    const { values } = readForm(filter, request.query);
    const { state, operation, cursor } = values;
    const asked = { state, operation, cursor };
    const caller = { app, apiKey: customerOf(request).apiKey };
    const answer = await callApi(caller, 'GET', addressOf('/api/jobs', { ...asked, limit: JOBS_A_PAGE }));
    const { jobs, nextCursor } = dataOf<{ jobs: JobView[]; nextCursor: string | null }>(answer);
    const isMoving = jobs.some(({ finishedAt }) => finishedAt === null);
    return sendPage(
      reply,
      <Page title="Jobs" viewer={viewerOf(request, reply)} path={PATH} styles={['account.css']} wide>
        <h1>Jobs</h1>
        <p class="lead">Every call is a job. It can be looked at, and its answer fetched again, for a day.</p>
        <form class="filters" method="get" action={PATH}>
          <Choice
            name="state"
            label="State"
            value={state}
            options={[['', 'All'], ...JOB_STATES.map((name) => [name, name] as const)]}
          />
          <OperationChoice operations={QUEUED} value={operation} none="All" />
          <button type="submit">Filter</button>
        </form>
        <div id="jobs" data-refresh={isMoving ? '3' : '15'}>
          {jobs.length === 0 ? (
            <div class="card empty">
              <p>There are no such jobs{nextCursor ? ' on this page' : ''}.</p>
              <a class="button" href="/account/try">
                Try a call
              </a>
            </div>
          ) : (
            <JobTable jobs={jobs} />
          )}
        </div>
        <MorePages path={PATH} query={asked} next={nextCursor} />
      </Page>,
    );
  });
}

function JobTable({ jobs }: { jobs: readonly JobView[] }): VNode {
  return (
    <Table name="Jobs" columns={['Job', 'Operation', 'State', 'Accepted', 'Took', '#Units']}>
      {jobs.map((job) => (
        <tr key={job.jobId}>
          <td>
            <a href={`${PATH}/${job.jobId}`}>
              <code>{job.jobId.slice(-12)}</code>
            </a>
          </td>
          <td>{job.operation}</td>
          <td>
            <StateTag state={job.state} />
            {job.state === 'running' && (
              <progress
                max={100}
                value={job.progress}
                aria-label={`${job.operation}: ${job.progress} percent`}
              />
            )}
            {job.error && <small class="muted"> {job.error.code}</small>}
          </td>
          <td>
            <Time at={job.createdAt} />
          </td>
          <td>{tookText(job)}</td>
          <td class="number">
            {job.finishedAt ? count(job.unitsCharged) : `up to ${count(job.unitsReserved)}`}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** How long it took, from its acceptance to its end. */
export function tookText({ createdAt, finishedAt }: JobView): string {
  if (finishedAt === null) return '-';
  const ms = Date.parse(finishedAt) - Date.parse(createdAt);
  return ms < 10_000 ? `${count(ms)} ms` : `${count(Math.round(ms / 1000))} s`;
}
