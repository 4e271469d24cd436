import { cancelJob } from './cancel-job.ts';
import { createJob } from './create-job.ts';
import { getJob } from './get-job.ts';
import { getJobEvents } from './get-job-events.ts';
import { getJobResult } from './get-job-result.ts';
import { listJobs } from './list-jobs.ts';
import { quoteJob } from './quote-job.ts';

/** Calls by the name of their operation. */
export const CALL_ENDPOINTS = [createJob, quoteJob];

/** Jobs of an account: status, results and cancellation. */
export const JOB_ENDPOINTS = [listJobs, getJob, cancelJob, getJobResult, getJobEvents];
