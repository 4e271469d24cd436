import { trackerSchema, trackerView } from '../../../batches/trackers/view.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import type { ScheduleDeps } from '../schedules/own-schedule.ts';
import { ownTracker, trackerId } from './own-tracker.ts';

export const getTracker = endpoint({
  tag: 'trackers',
  method: 'get',
  path: '/api/trackers/{id}',
  tool: 'trackers_get',
  summary: 'Returns a tracker, its last look and the times of its next looks.',
  id: trackerId,
  answers: { 200: enveloped('The tracker', trackerSchema) },

  async handle({ database, clock }: ScheduleDeps, { account, id, reply }) {
    return sendEnvelope(reply, 200, trackerView(await ownTracker({ database }, account, id), clock.now()));
  },
});
