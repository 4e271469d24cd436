import { alertSchema, alertView, listAlerts } from '../../../batches/trackers/alert.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { cutPage, pageOf } from '../page.ts';
import { pageQuery } from '../schedules/own-schedule.ts';
import { ownTracker, trackerId } from './own-tracker.ts';

export const listTrackerAlerts = endpoint({
  tag: 'trackers',
  method: 'get',
  path: '/api/trackers/{id}/alerts',
  tool: 'trackers_alerts',
  summary: "Lists a tracker's alerts of the last 90 days, newest first.",
  id: trackerId,
  query: pageQuery,
  answers: { 200: enveloped('A page of alerts', pageOf('TrackerAlertsPage', 'alerts', alertSchema)) },

  async handle({ database }: { database: Database }, { account, id, query, reply }) {
    const { limit, cursor = null } = query;
    await ownTracker({ database }, account, id);
    const found = await listAlerts(database, id, { before: cursor, limit: limit + 1 });
    const { entries, nextCursor } = cutPage(found, limit, ({ alertId }) => alertId);
    return sendEnvelope(reply, 200, { alerts: entries.map(alertView), nextCursor });
  },
});
