import { cancelJob } from './cancel-job.ts';
import { getJob } from './get-job.ts';
import { getJobEvents } from './get-job-events.ts';
import { getJobResult } from './get-job-result.ts';
import { listJobs } from './list-jobs.ts';

/** The jobs of an account: their state, results and end. */
export const JOB_ENDPOINTS = [listJobs, getJob, cancelJob, getJobResult, getJobEvents];
