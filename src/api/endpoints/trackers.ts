import { z } from 'zod';
import { alertSchema, alertView, listAlerts } from '../../batches/trackers/alert.ts';
import { newTrackerSchema, trackerChangeSchema } from '../../batches/trackers/read-tracker.ts';
import { changeTracker, createTracker } from '../../batches/trackers/save-tracker.ts';
import {
  listedValueSchema,
  listTrackedItems,
  trackedValueSchema,
  trackedValues,
} from '../../batches/trackers/tracked-values.ts';
import {
  findTracker,
  listTrackers as findTrackers,
  trackerSchema,
  trackerView,
} from '../../batches/trackers/tracker.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { integer, problem } from '../../operations/params/scalars.ts';
import type { Database } from '../../platform/db/pool.ts';
import { sendEnvelope } from '../envelope.ts';
import { EXAMPLE_ID, uuidParameter } from '../ids.ts';
import { enveloped } from '../openapi/responses.ts';
import { owned, readableOperations } from '../plugins/authentication.ts';
import { endpoint } from './endpoint.ts';
import { cutPage, pageOf } from './page.ts';
import { pageQuery, recurringEndpoints } from './recurring.ts';
import type { ScheduleDeps } from './schedules.ts';

const trackerId = { of: 'the tracker', unknown: 'TRACKER_NOT_FOUND' } as const;

const ownTracker = owned(trackerId.unknown, ({ database }: { database: Database }, accountId, id) =>
  findTracker(database, accountId, id),
);

const { create, quote, update, remove, run } = recurringEndpoints({
  kind: 'tracker',
  id: trackerId,
  summaries: {
    create:
      'Creates a tracker: it checks products or keywords at regular times, or a screen with each imported week, and makes alerts.',
    quote: 'Validates a tracker and returns it with the price of a check and of a day, without creating it.',
    update:
      'Updates the given fields of a tracker. A new condition only records its state at the next check.',
    delete: 'Deletes a tracker and its alerts. A check that is under way continues, and makes no alerts.',
    run: 'Checks the products, keywords or screen of a tracker now.',
  },
  run: 'check',
  schema: trackerSchema,
  created: {
    description:
      'The times of the checks, the products or keywords, and the conditions, or a screen; at most 1 MiB',
    schema: newTrackerSchema,
    example: {
      name: 'Cheap headphones',
      cron: '0 6 * * *',
      timezone: 'Europe/Berlin',
      domain: 1,
      asins: ['B08N5WRWNX'],
      conditions: [{ type: 'price_below', price: 'new', value: 1999 }],
    },
  },
  changed: {
    description: 'Fields to update; at most 1 MiB',
    schema: trackerChangeSchema,
    example: { paused: true },
  },
  create: createTracker,
  change: changeTracker,
  requireOwn: (deps, account, id) => ownTracker(deps, account, id, 'change'),
});

const listTrackers = endpoint({
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
      operations: readableOperations(account),
      before: cursor,
      limit: limit + 1,
    });
    const { entries, nextCursor } = cutPage(found, limit, (tracker) => tracker.scheduleId);
    return sendEnvelope(reply, 200, {
      trackers: entries.map((tracker) => trackerView(tracker, clock.now())),
      nextCursor,
    });
  },
});

/** The id of a tracker, and an ASIN or the id of a keyword. */
const CURSOR = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\/[\dA-Z]{1,20}$/;

const listTrackedValues = endpoint({
  tag: 'trackers',
  method: 'get',
  path: '/api/trackers/values',
  summary:
    'Lists tracked products and keywords with the values that the last check of their tracker found, their distance to the bounds, and their last changes.',
  query: z.object({
    tracker: uuidParameter('a tracker').optional().describe('Only what this tracker tracks'),
    limit: integer({ min: 1, max: 100 }).default(50).describe('Products and keywords per page'),
    cursor: z
      .string()
      .regex(CURSOR, problem('must be the nextCursor of the previous page'))
      .meta({
        description: 'nextCursor of the previous page',
        maxLength: 57,
        examples: [`${EXAMPLE_ID}/B08N5WRWNX`],
      })
      .optional(),
  }),
  answers: {
    200: enveloped('A page of values', pageOf('TrackedValuesPage', 'values', listedValueSchema)),
  },

  async handle({ database }: { database: Database }, { account, query, reply }) {
    const { tracker = null, limit, cursor } = query;
    const [trackerId = '', item = ''] = cursor?.split('/') ?? [];
    const found = await listTrackedItems(database, account.accountId, {
      operations: readableOperations(account),
      trackerId: tracker,
      after: cursor === undefined ? null : { trackerId, item },
      limit: limit + 1,
    });
    const { entries, nextCursor } = cutPage(found, limit, (one) => `${one.trackerId}/${one.item}`);
    return sendEnvelope(reply, 200, { values: entries.flatMap(({ values }) => values), nextCursor });
  },
});

const trackerDetail = trackerSchema
  .extend({
    current: z
      .array(trackedValueSchema)
      .describe('Values at the last check, of the first 100 products or keywords; empty for a screen'),
  })
  .register(SCHEMA_NAMES, { id: 'TrackerDetail' });

const getTracker = endpoint({
  tag: 'trackers',
  method: 'get',
  path: '/api/trackers/{id}',
  tool: 'trackers_get',
  summary: 'Returns a tracker, its last check with the values it found, and the times of its next checks.',
  id: trackerId,
  answers: { 200: enveloped('The tracker', trackerDetail) },

  async handle({ database, clock }: ScheduleDeps, { account, id, reply }) {
    const tracker = await ownTracker({ database }, account, id);
    const current = await trackedValues(database, tracker);
    return sendEnvelope(reply, 200, { ...trackerView(tracker, clock.now()), current });
  },
});

const listTrackerAlerts = endpoint({
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

/** Trackers, which check products, keywords or screens and make alerts. */
export const TRACKER_ENDPOINTS = [
  create,
  quote,
  listTrackers,
  listTrackedValues,
  getTracker,
  update,
  remove,
  listTrackerAlerts,
  run,
];
