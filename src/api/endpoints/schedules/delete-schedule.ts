import { z } from 'zod';
import { deleteSchedule as remove } from '../../../batches/schedules/schedule.ts';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { ownSchedule, type ScheduleDeps, scheduleId } from './own-schedule.ts';

const deleted = z
  .object({ deleted: z.literal(true), scheduleId: z.uuid() })
  .register(SCHEMA_NAMES, { id: 'DeletedSchedule' });

export const deleteSchedule = endpoint({
  tag: 'schedules',
  method: 'delete',
  path: '/api/schedules/{id}',
  tool: 'schedules_delete',
  summary: 'Deletes a schedule. Batches that are under way continue.',
  id: scheduleId,
  answers: { 200: enveloped('The schedule was deleted', deleted) },

  async handle({ database }: Pick<ScheduleDeps, 'database'>, { account, id, reply }) {
    await ownSchedule({ database }, account, id, 'change');
    await remove(database, account.accountId, id);
    return sendEnvelope(reply, 200, { deleted: true, scheduleId: id });
  },
});
