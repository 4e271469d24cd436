import { createSchedule, quoteSchedule } from './create-schedule.ts';
import { deleteSchedule } from './delete-schedule.ts';
import { getSchedule } from './get-schedule.ts';
import { listScheduleRuns } from './list-schedule-runs.ts';
import { listSchedules } from './list-schedules.ts';
import { runSchedule } from './run-schedule.ts';
import { updateSchedule } from './update-schedule.ts';

/** Schedules, which create batches at regular times. */
export const SCHEDULE_ENDPOINTS = [
  createSchedule,
  quoteSchedule,
  listSchedules,
  getSchedule,
  updateSchedule,
  deleteSchedule,
  listScheduleRuns,
  runSchedule,
];
