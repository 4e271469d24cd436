import { z } from 'zod';
import { deleteSchedule } from '../../../batches/schedules/schedule.ts';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { ownTracker, trackerId } from './own-tracker.ts';

const deleted = z
  .object({ deleted: z.literal(true), trackerId: z.uuid() })
  .register(SCHEMA_NAMES, { id: 'DeletedTracker' });

export const deleteTracker = endpoint({
  tag: 'trackers',
  method: 'delete',
  path: '/api/trackers/{id}',
  tool: 'trackers_delete',
  summary: 'Deletes a tracker and its alerts. A look that is under way continues, and makes no alerts.',
  id: trackerId,
  answers: { 200: enveloped('The tracker was deleted', deleted) },

  async handle({ database }: { database: Database }, { account, id, reply }) {
    await ownTracker({ database }, account, id, 'change');
    // Its schedule takes the tracker, its states and its alerts with it.
    await deleteSchedule(database, account.accountId, id);
    return sendEnvelope(reply, 200, { deleted: true, trackerId: id });
  },
});
