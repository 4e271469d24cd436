import { scheduleChangeSchema } from '../../../batches/schedules/request.ts';
import { scheduleSchema } from '../../../batches/schedules/view.ts';
import { enveloped } from '../../openapi/responses.ts';
import { dryRunQuery, sendToWorker, type UploadDeps } from '../../uploads.ts';
import { endpoint } from '../endpoint.ts';
import { ownSchedule, type ScheduleDeps, scheduleId } from './own-schedule.ts';

export const updateSchedule = endpoint({
  tag: 'schedules',
  method: 'patch',
  path: '/api/schedules/{id}',
  tool: 'schedules_update',
  summary: 'Updates the given fields of a schedule.',
  id: scheduleId,
  query: dryRunQuery,
  upload: { description: 'Fields to update', schema: scheduleChangeSchema, example: { paused: true } },
  answers: {
    200: enveloped('The schedule', scheduleSchema),
  },
  errors: ['QUOTA_MAX_UNITS'],

  async handle(deps: Pick<ScheduleDeps, 'database'> & UploadDeps, call) {
    const { dryRun } = call.query;
    await ownSchedule(deps, call.account, call.id, 'change');
    return sendToWorker(deps, call, (ids) => ({ kind: 'schedule', ...ids, scheduleId: call.id, dryRun }));
  },
});
