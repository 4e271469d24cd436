import { listSchedules as findSchedules } from '../../../batches/schedules/schedule.ts';
import { scheduleSchema, scheduleView } from '../../../batches/schedules/view.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { readableOperations } from '../../scopes.ts';
import { endpoint } from '../endpoint.ts';
import { cutPage, pageOf } from '../page.ts';
import { pageQuery, type ScheduleDeps } from './own-schedule.ts';

export const listSchedules = endpoint({
  tag: 'schedules',
  method: 'get',
  path: '/api/schedules',
  tool: 'schedules_list',
  summary: 'Lists schedules, newest first.',
  query: pageQuery,
  answers: { 200: enveloped('A page of schedules', pageOf('SchedulesPage', 'schedules', scheduleSchema)) },

  async handle({ database, clock }: ScheduleDeps, { account, query, reply }) {
    const { limit, cursor = null } = query;
    const found = await findSchedules(database, account.accountId, {
      ...{ operations: readableOperations(account), before: cursor },
      limit: limit + 1,
    });
    const { entries, nextCursor } = cutPage(found, limit, ({ scheduleId }) => scheduleId);
    return sendEnvelope(reply, 200, {
      schedules: entries.map((schedule) => scheduleView(schedule, clock.now())),
      nextCursor,
    });
  },
});
