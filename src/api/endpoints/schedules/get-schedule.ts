import { scheduleSchema, scheduleView } from '../../../batches/schedules/view.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { ownSchedule, type ScheduleDeps, scheduleId } from './own-schedule.ts';

export const getSchedule = endpoint({
  tag: 'schedules',
  method: 'get',
  path: '/api/schedules/{id}',
  tool: 'schedules_get',
  summary: 'Returns a schedule and the times of its next runs.',
  id: scheduleId,
  answers: { 200: enveloped('The schedule', scheduleSchema) },

  async handle(deps: ScheduleDeps, { account, id, reply }) {
    const schedule = await ownSchedule(deps, account, id);
    return sendEnvelope(reply, 200, scheduleView(schedule, deps.clock.now()));
  },
});
