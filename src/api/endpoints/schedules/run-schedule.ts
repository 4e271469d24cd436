import { z } from 'zod';
import { runSchema } from '../../../batches/schedules/view.ts';
import { batchSchema } from '../../../batches/view.ts';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import { enveloped } from '../../openapi/responses.ts';
import { sendToWorker, type UploadDeps } from '../../uploads.ts';
import { endpoint } from '../endpoint.ts';
import { ownSchedule, type ScheduleDeps, scheduleId } from './own-schedule.ts';

/** A run that was started on demand. */
export const startedRunSchema = z
  .object({ run: runSchema, batch: batchSchema.nullable() })
  .register(SCHEMA_NAMES, { id: 'StartedRun' });

export const runSchedule = endpoint({
  tag: 'schedules',
  method: 'post',
  path: '/api/schedules/{id}/run',
  tool: 'schedules_run',
  startsCalls: true,
  cost: { shownBy: '/api/schedules/{id}', unitsOf: ({ units }) => units as number },
  summary: 'Runs a schedule now.',
  id: scheduleId,
  answers: { 202: enveloped('The run and its batch', startedRunSchema, 'Location') },
  errors: ['BATCH_STATE', 'LIMIT_REACHED', 'STORAGE_EXCEEDED'],

  async handle(deps: Pick<ScheduleDeps, 'database'> & UploadDeps, call) {
    await ownSchedule(deps, call.account, call.id, 'change');
    return sendToWorker(deps, call, (ids) => ({ kind: 'run', ...ids, scheduleId: call.id, of: 'schedule' }));
  },
});
