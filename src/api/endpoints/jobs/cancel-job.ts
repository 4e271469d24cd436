import { type CancelDeps, cancelJob as cancel } from '../../../../jobs/cancel.ts';
import { OPERATION_SCOPES } from '../../../accounts/scopes.ts';
import { type JobViewDeps, jobSchema } from '../../job-view.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { jobId, type OwnJobDeps, ownJob, sendJob } from './own-job.ts';

export const cancelJob = endpoint({
  tag: 'jobs',
  method: 'delete',
  path: '/api/jobs/{id}',
  tool: 'jobs_cancel',
  summary: 'Cancels what a job has not sent to the data provider, and releases its units.',
  description:
    'Cancels what a job has not sent to the data provider, and releases its units. What was sent runs to its end, is charged, and its answer is readable. The answer shows the present state of the job; a running job ends a moment later. A job that has ended stays unchanged.',
  id: jobId,
  scopes: OPERATION_SCOPES,
  answers: { 200: enveloped('The job', jobSchema, 'X-Job-Id', 'Retry-After') },
  errors: ['JOB_SHARED'],

  async handle(deps: OwnJobDeps & JobViewDeps & CancelDeps, { account, id, reply }) {
    const call = await ownJob(deps, account, id, 'change');
    if (call.state === 'reserved') await cancel(deps, call);
    return sendJob(deps, reply, await ownJob(deps, account, id));
  },
});
