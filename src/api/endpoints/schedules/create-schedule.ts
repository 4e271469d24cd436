import { newScheduleSchema } from '../../../batches/schedules/request.ts';
import { scheduleSchema } from '../../../batches/schedules/view.ts';
import { enveloped } from '../../openapi/responses.ts';
import { dryRunQuery, sendToWorker, type UploadDeps } from '../../uploads.ts';
import { endpoint } from '../endpoint.ts';
import { previewSchema } from './own-schedule.ts';

/** What a schedule and its quote share. */
const NEW_SCHEDULE = {
  tag: 'schedules',
  method: 'post',
  upload: {
    description: 'The times of the runs, and the batch of each run',
    schema: newScheduleSchema,
    example: {
      name: 'Every Monday',
      cron: '0 6 * * 1',
      timezone: 'Europe/Berlin',
      batch: { operation: 'market.product', items: [{ domain: 1, asins: ['B08N5WRWNX'] }] },
    },
  },
  errors: ['LIMIT_REACHED', 'QUOTA_MAX_UNITS'],
} as const;

export const createSchedule = endpoint({
  ...NEW_SCHEDULE,
  path: '/api/schedules',
  tool: 'schedules_create',
  startsCalls: true,
  summary: 'Creates a schedule: a batch that runs at regular times.',
  query: dryRunQuery,
  answers: { 201: enveloped('The schedule', scheduleSchema, 'Location') },
  handle: (deps: UploadDeps, call) => sendSchedule(deps, call, call.query.dryRun),
});

export const quoteSchedule = endpoint({
  ...NEW_SCHEDULE,
  path: '/api/schedules/quote',
  summary: 'Checks a schedule and returns it with its price and next runs, without creating it.',
  answers: { 200: enveloped('The schedule that would be created', previewSchema) },
  handle: (deps: UploadDeps, call) => sendSchedule(deps, call, true),
});

function sendSchedule(deps: UploadDeps, call: Parameters<typeof sendToWorker>[1], dryRun: boolean) {
  return sendToWorker(deps, call, (ids) => ({ kind: 'schedule', ...ids, scheduleId: null, dryRun }));
}
