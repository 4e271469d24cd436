import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { JOB_STATES, type JobView } from '../../../api/job-view.ts';
import { QUEUED } from '../../../operations/index.ts';
import { FilterForm } from '../../kit/form.tsx';
import { ListPage, StateChoice } from '../../kit/list-page.tsx';
import type { Listed } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.tsx';
import { Table } from '../../kit/table.tsx';
import { StateTag } from '../../kit/tag.tsx';
import { count, ShortId, Time } from '../../kit/words.tsx';
import { apiList } from '../customer-api.ts';
import { OperationChoice } from '../operation-choice.tsx';

const PATH = '/account/jobs';

/** Registers the list of the account's calls of the last day. */
export function registerJobList(scope: FastifyInstance): void {
  scope.get(PATH, async (request, reply) => {
    const list = await apiList<JobView>(request, {
      url: '/api/jobs',
      name: 'jobs',
      filters: ['state', 'operation'],
    });
    const hasOpen = list.items.some(({ finishedAt }) => finishedAt === null);
    return sendPage(
      reply,
      <ListPage
        title="Jobs"
        lead="Every call is a job. Jobs and their answers are kept for 24 hours."
        path={PATH}
        list={list}
        filter={
          <FilterForm path={PATH} values={list.query}>
            <StateChoice states={JOB_STATES} />
            <OperationChoice operations={QUEUED} none="All" />
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
      <p>No jobs found{list.next ? ' on this page' : ''}.</p>
      <a class="button" href="/account/try">
        Try a call
      </a>
    </>
  );
  return (
    <Table
      name="Jobs"
      empty={empty}
      rows={list.items}
      columns={[
        [
          'Job',
          ({ jobId }) => (
            <a href={`${PATH}/${jobId}`}>
              <ShortId id={jobId} />
            </a>
          ),
        ],
        ['Operation', ({ operation }) => operation],
        ['State', (job) => <JobState job={job} />],
        ['Accepted', ({ createdAt }) => <Time at={createdAt} />],
        ['Duration', durationText],
        ['Units', unitsText, 'number'],
      ]}
    />
  );
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
  if (finishedAt === null) return '-';
  const ms = Date.parse(finishedAt) - Date.parse(createdAt);
  return ms < 10_000 ? `${count(ms)} ms` : `${count(Math.round(ms / 1000))} s`;
}
