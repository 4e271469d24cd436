import { trackerChangeSchema } from '../../../batches/trackers/request.ts';
import { trackerSchema } from '../../../batches/trackers/view.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { enveloped } from '../../openapi/responses.ts';
import { dryRunQuery, sendToWorker, type UploadDeps } from '../../uploads.ts';
import { endpoint } from '../endpoint.ts';
import { ownTracker, trackerId } from './own-tracker.ts';

export const updateTracker = endpoint({
  tag: 'trackers',
  method: 'patch',
  path: '/api/trackers/{id}',
  tool: 'trackers_update',
  summary: 'Updates the given fields of a tracker. A new condition only records its state at the next look.',
  id: trackerId,
  query: dryRunQuery,
  upload: { description: 'Fields to update', schema: trackerChangeSchema, example: { paused: true } },
  answers: { 200: enveloped('The tracker', trackerSchema) },
  errors: ['QUOTA_MAX_UNITS'],

  async handle(deps: { database: Database } & UploadDeps, call) {
    const { dryRun } = call.query;
    await ownTracker(deps, call.account, call.id, 'change');
    return sendToWorker(deps, call, (ids) => ({ kind: 'tracker', ...ids, trackerId: call.id, dryRun }));
  },
});
