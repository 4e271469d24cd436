import type { CompletionMap } from '../../../../jobs/wait.ts';
import { type JobViewDeps, jobSchema } from '../../job-view.ts';
import { enveloped } from '../../openapi/responses.ts';
import { OWN_JOB_SCOPES } from '../../scopes.ts';
import { endpoint } from '../endpoint.ts';
import { awaitedJob, jobId, type OwnJobDeps, sendJob, waitQuery } from './own-job.ts';

export const getJob = endpoint({
  tag: 'jobs',
  method: 'get',
  path: '/api/jobs/{id}',
  tool: 'jobs_get',
  follows: 'job',
  summary: "Returns a job's status.",
  id: jobId,
  scopes: OWN_JOB_SCOPES,
  query: waitQuery,
  answers: { 200: enveloped('The job', jobSchema, 'X-Job-Id', 'Retry-After') },

  async handle(
    deps: OwnJobDeps & JobViewDeps & { completions: CompletionMap },
    { account, id, query, reply },
  ) {
    return sendJob(deps, reply, await awaitedJob(deps, account, id, query.wait));
  },
});
