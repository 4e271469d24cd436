import { z } from 'zod';
import { QUEUED } from '../../../operations/index.ts';
import { integer } from '../../../operations/params/scalars.ts';
import { jobSchema } from '../../job-view.ts';
import { jobListSchema } from '../../jobs.ts';
import { LONGEST_POLL_SECONDS } from '../../preferences.ts';
import { enveloped, headers } from '../responses.ts';
import { dataOf, reference } from '../schemas.ts';
import { type Endpoint, endpointPaths, pageOf } from './endpoint.ts';

const jobsPage = pageOf('JobsPage', 'jobs', jobSchema);

const waitSchema = z.object({
  wait: integer({ min: 0, max: LONGEST_POLL_SECONDS })
    .optional()
    .meta({ description: 'How long to wait for the end of the job, in seconds', examples: [30] }),
});

const job = reference(jobSchema);

/** Every kind of data a job can bring, and the picture. */
const results = QUEUED.flatMap(({ name, respond }) =>
  respond.type === 'json' ? [{ ...reference(dataOf(name)) }] : [],
);

export const JOB_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/api/jobs',
    tool: 'jobs_list',
    summary: 'Lists the jobs of the last day, the newest first.',
    description:
      'Lists the jobs of the last day, the newest first. With state a page may be shorter than limit; the last has no cursor.',
    query: jobListSchema,
    answers: { 200: enveloped('A page', reference(jobsPage)) },
  },
  {
    method: 'get',
    path: '/api/jobs/{id}',
    tool: 'jobs_get',
    summary: 'Tells how a job is going.',
    idOf: 'the job',
    query: waitSchema,
    answers: { 200: enveloped('The job', job, 'X-Job-Id', 'Retry-After') },
    errors: ['JOB_NOT_FOUND'],
  },
  {
    method: 'delete',
    path: '/api/jobs/{id}',
    tool: 'jobs_cancel',
    summary: 'Cancels a job and gives its units back; one that has ended stays as it is.',
    idOf: 'the job',
    answers: { 200: enveloped('The job', job, 'X-Job-Id', 'Retry-After') },
    errors: ['JOB_NOT_FOUND', 'JOB_SHARED'],
  },
  {
    method: 'get',
    path: '/api/jobs/{id}/result',
    tool: 'jobs_get_result',
    summary: 'Sends what a job has brought: the answer, or the error, that its call would have been given.',
    idOf: 'the job',
    query: waitSchema,
    answers: {
      200: {
        ...enveloped('The answer', { anyOf: results } as never, 'X-Job-Id', 'X-Cache'),
        content: {
          ...enveloped('', { anyOf: results } as never).content,
          'image/png': { schema: { type: 'string', format: 'binary' } },
        },
      },
      202: enveloped('The job, which has not ended', job, 'X-Job-Id', 'Retry-After'),
    },
    errors: [
      'JOB_NOT_FOUND',
      'PRODUCT_NOT_FOUND',
      'CANCELLED',
      'UPSTREAM_ERROR',
      'UPSTREAM_TIMEOUT',
      'DEADLINE_PASSED',
    ],
  },
  {
    method: 'get',
    path: '/api/jobs/{id}/events',
    summary: "Tells a job's story as Server-Sent Events.",
    description:
      'Sends `job` with the job at once and whenever something has changed, and `end` with the job when it has ended.',
    idOf: 'the job',
    answers: {
      200: {
        description: 'Events, each with a job as JSON',
        headers: headers('X-Job-Id', 'X-Accel-Buffering'),
        content: { 'text/event-stream': { schema: { type: 'string' } } },
      },
    },
    errors: ['JOB_NOT_FOUND'],
  },
];

export const jobPaths = () => endpointPaths('jobs', JOB_ENDPOINTS);
