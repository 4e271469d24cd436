import { listRuns } from '../../../batches/schedules/run.ts';
import { runSchema, runView } from '../../../batches/schedules/view.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { cutPage, pageOf } from '../page.ts';
import { ownSchedule, pageQuery, type ScheduleDeps, scheduleId } from './own-schedule.ts';

export const listScheduleRuns = endpoint({
  tag: 'schedules',
  method: 'get',
  path: '/api/schedules/{id}/runs',
  tool: 'schedules_list_runs',
  summary: "Lists a schedule's runs, newest first.",
  id: scheduleId,
  query: pageQuery,
  answers: { 200: enveloped('A page of runs', pageOf('ScheduleRunsPage', 'runs', runSchema)) },

  async handle({ database }: Pick<ScheduleDeps, 'database'>, { account, id, query, reply }) {
    const { limit, cursor = null } = query;
    await ownSchedule({ database }, account, id);
    const found = await listRuns(database, id, { before: cursor, limit: limit + 1 });
    const { entries, nextCursor } = cutPage(found, limit, ({ runId }) => runId);
    return sendEnvelope(reply, 200, { runs: entries.map(runView), nextCursor });
  },
});
