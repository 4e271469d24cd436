import { newScheduleSchema } from '../../../batches/schedules/request.ts';
import { scheduleSchema } from '../../../batches/schedules/view.ts';
import { enveloped } from '../../openapi/responses.ts';
import { dryRunQuery, sendToWorker, type UploadDeps } from '../../uploads.ts';
import { endpoint } from '../endpoint.ts';
import { previewSchema } from './own-schedule.ts';

export const createSchedule = endpoint({
  tag: 'schedules',
  method: 'post',
  path: '/api/schedules',
  tool: 'schedules_create',
  startsCalls: true,
  summary: 'Creates a schedule: a batch that runs at regular times.',
  query: dryRunQuery,
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
  answers: {
    200: enveloped('With dryRun: the schedule that would be created', previewSchema),
    201: enveloped('The schedule', scheduleSchema, 'Location'),
  },
  errors: ['LIMIT_REACHED', 'QUOTA_MAX_UNITS'],

  async handle(deps: UploadDeps, call) {
    const { dryRun } = call.query;
    return sendToWorker(deps, call, (ids) => ({ kind: 'schedule', ...ids, scheduleId: null, dryRun }));
  },
});
