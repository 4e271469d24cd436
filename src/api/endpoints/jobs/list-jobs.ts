import { z } from 'zod';
import { type Call, listCalls } from '../../../billing/calls.ts';
import { QUEUED_NAMES } from '../../../operations/index.ts';
import { integer, oneOf } from '../../../operations/params/scalars.ts';
import { POLL_LIFETIME_MS } from '../../../results/answer-store.ts';
import { sendEnvelope } from '../../envelope.ts';
import { uuidParameter } from '../../ids.ts';
import { JOB_STATES, type JobState, type JobViewDeps, jobSchema, jobView } from '../../job-view.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { pageOf } from '../page.ts';
import type { OwnJobDeps } from './own-job.ts';

/** The state of calls that corresponds to a state of jobs. */
const CALL_STATES: Record<JobState, Call['state']> = {
  queued: 'reserved',
  running: 'reserved',
  done: 'settled',
  failed: 'released',
  cancelled: 'released',
};

export const listJobs = endpoint({
  tag: 'jobs',
  method: 'get',
  path: '/api/jobs',
  tool: 'jobs_list',
  summary: 'Lists the jobs of the last 24 hours, newest first.',
  description:
    'Lists the jobs of the last 24 hours, newest first. A page may hold fewer jobs than `limit`, or none; on the last page `nextCursor` is null.',
  query: z.object({
    state: oneOf(JOB_STATES).optional().describe('Only jobs in this state'),
    operation: oneOf(QUEUED_NAMES).optional().describe('Only jobs of this operation'),
    limit: integer({ min: 1, max: 100 }).default(50).describe('Jobs per page'),
    cursor: uuidParameter('the last job that the previous page looked at, its `nextCursor`').optional(),
  }),
  answers: { 200: enveloped('A page of jobs', pageOf('JobsPage', 'jobs', jobSchema)) },

  async handle(deps: OwnJobDeps & JobViewDeps, { account, query, reply }) {
    const { state, operation, limit, cursor } = query;
    const { calls, next } = await listCalls(deps.database, account.accountId, {
      states: state ? [CALL_STATES[state]] : ['reserved', 'settled', 'released'],
      cancelled: state === 'cancelled' || (state === 'failed' ? false : null),
      operation: operation ?? null,
      acceptedAfter: deps.clock.now() - POLL_LIFETIME_MS,
      before: cursor ?? null,
      limit,
    });
    const jobs = await Promise.all(calls.map((call) => jobView(deps, call)));
    return sendEnvelope(reply, 200, {
      // The database does not distinguish queued and running calls; only the queue does.
      jobs: jobs.filter((job) => state === undefined || job.state === state),
      nextCursor: next,
    });
  },
});
