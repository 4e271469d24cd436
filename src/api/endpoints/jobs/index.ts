import { cancelJob } from './cancel-job.ts';
import { getJob } from './get-job.ts';
import { getJobEvents } from './get-job-events.ts';
import { getJobResult } from './get-job-result.ts';
import { listJobs } from './list-jobs.ts';

/** Jobs of an account: status, results and cancellation. */
export const JOB_ENDPOINTS = [listJobs, getJob, cancelJob, getJobResult, getJobEvents];
