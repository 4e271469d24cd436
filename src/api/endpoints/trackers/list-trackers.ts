import { listTrackers as findTrackers } from '../../../batches/trackers/tracker.ts';
import { trackerSchema, trackerView } from '../../../batches/trackers/view.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { readableOperations } from '../../scopes.ts';
import { endpoint } from '../endpoint.ts';
import { cutPage, pageOf } from '../page.ts';
import { pageQuery, type ScheduleDeps } from '../schedules/own-schedule.ts';

export const listTrackers = endpoint({
  tag: 'trackers',
  method: 'get',
  path: '/api/trackers',
  tool: 'trackers_list',
  summary: 'Lists trackers, newest first.',
  query: pageQuery,
  answers: { 200: enveloped('A page of trackers', pageOf('TrackersPage', 'trackers', trackerSchema)) },

  async handle({ database, clock }: ScheduleDeps, { account, query, reply }) {
    const { limit, cursor = null } = query;
    const found = await findTrackers(database, account.accountId, {
      ...{ operations: readableOperations(account), before: cursor },
      limit: limit + 1,
    });
    const { entries, nextCursor } = cutPage(found, limit, ({ scheduleId }) => scheduleId);
    return sendEnvelope(reply, 200, {
      trackers: entries.map((tracker) => trackerView(tracker, clock.now())),
      nextCursor,
    });
  },
});
