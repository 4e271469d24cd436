import type { Database } from '../../../platform/db/pool.ts';
import { enveloped } from '../../openapi/responses.ts';
import { sendToWorker, type UploadDeps } from '../../uploads.ts';
import { endpoint } from '../endpoint.ts';
import { startedRunSchema } from '../schedules/run-schedule.ts';
import { ownTracker, trackerId } from './own-tracker.ts';

export const runTracker = endpoint({
  tag: 'trackers',
  method: 'post',
  path: '/api/trackers/{id}/run',
  tool: 'trackers_run',
  startsCalls: true,
  cost: { shownBy: '/api/trackers/{id}', unitsOf: ({ units }) => units as number },
  summary: 'Looks at the products or keywords of a tracker now.',
  id: trackerId,
  answers: { 202: enveloped('The look and its batch', startedRunSchema, 'Location') },
  errors: ['BATCH_STATE', 'LIMIT_REACHED', 'STORAGE_EXCEEDED'],

  async handle(deps: { database: Database } & UploadDeps, call) {
    await ownTracker(deps, call.account, call.id, 'change');
    // The id of a tracker is that of its schedule.
    return sendToWorker(deps, call, (ids) => ({ kind: 'run', ...ids, scheduleId: call.id, of: 'tracker' }));
  },
});
