import { z } from 'zod';
import { deleteSchedule } from '../../batches/schedules/schedule.ts';
import { alertSchema, alertView, listAlerts } from '../../batches/trackers/alert.ts';
import { newTrackerSchema, trackerChangeSchema } from '../../batches/trackers/read-tracker.ts';
import {
  changeTracker,
  createTracker as create,
  type SaveTrackerDeps,
} from '../../batches/trackers/save-tracker.ts';
import {
  listedValueSchema,
  listTrackedItems,
  trackedValueSchema,
  trackedValues,
} from '../../batches/trackers/tracked-values.ts';
import {
  findTracker,
  listTrackers as findTrackers,
  type Tracker,
  trackerSchema,
  trackerView,
} from '../../batches/trackers/tracker.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { integer, problem } from '../../operations/params/scalars.ts';
import type { Database } from '../../platform/db/pool.ts';
import { SoukError } from '../../platform/errors.ts';
import { sendEnvelope } from '../envelope.ts';
import { EXAMPLE_ID, uuidParameter } from '../ids.ts';
import { enveloped } from '../openapi/responses.ts';
import { type Account, readableOperations, requireUse } from '../plugins/authentication.ts';
import { dryRunQuery, readDocument, sendToWorker, type UploadDeps } from '../uploads.ts';
import { endpoint } from './endpoint.ts';
import { cutPage, pageOf } from './page.ts';
import { pageQuery, type ScheduleDeps, startedRunSchema } from './schedules.ts';

const trackerId = { of: 'the tracker', unknown: 'TRACKER_NOT_FOUND' } as const;

/**
 * Returns a tracker of the account that its key may use.
 * @throws SoukError TRACKER_NOT_FOUND, also for a tracker of another account, or KEY_SCOPE_MISSING.
 */
async function ownTracker(
  { database }: { database: Database },
  account: Account,
  id: string,
  use: 'read' | 'change' = 'read',
): Promise<Tracker> {
  const tracker = await findTracker(database, account.accountId, id);
  if (!tracker) throw new SoukError('TRACKER_NOT_FOUND');
  requireUse(account, tracker.operation, use);
  return tracker;
}

/** Answer to creating or updating a tracker with dryRun. */
const previewSchema = trackerSchema
  .extend({ dryRun: z.literal(true) })
  .register(SCHEMA_NAMES, { id: 'TrackerPreview' });

/** What a tracker and its quote share. */
const NEW_TRACKER = {
  tag: 'trackers',
  method: 'post',
  document: {
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
  errors: ['LIMIT_REACHED', 'QUOTA_MAX_UNITS'],
} as const;

const createTracker = endpoint({
  ...NEW_TRACKER,
  path: '/api/trackers',
  act: 'tracker.created',
  tool: 'trackers_create',
  startsCalls: true,
  summary:
    'Creates a tracker: it checks products or keywords at regular times, or a screen with each imported week, and makes alerts.',
  query: dryRunQuery,
  answers: { 201: enveloped('The tracker', trackerSchema, 'Location') },

  async handle(deps: SaveTrackerDeps & UploadDeps, { account, query: { dryRun }, request, reply }) {
    const body = await readDocument(deps, { account, request });
    const tracker = await create(deps, { ...account, body, dryRun });
    if (dryRun) return sendEnvelope(reply, 200, { dryRun, ...tracker });
    reply.header('location', tracker.links.self);
    return sendEnvelope(reply, 201, tracker, { message: 'created' });
  },
});

const quoteTracker = endpoint({
  ...NEW_TRACKER,
  path: '/api/trackers/quote',
  act: null,
  summary: 'Validates a tracker and returns it with the price of a check and of a day, without creating it.',
  answers: { 200: enveloped('The tracker that would be created', previewSchema) },

  async handle(deps: SaveTrackerDeps & UploadDeps, { account, request, reply }) {
    const body = await readDocument(deps, { account, request });
    const tracker = await create(deps, { ...account, body, dryRun: true });
    return sendEnvelope(reply, 200, { dryRun: true, ...tracker });
  },
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

const updateTracker = endpoint({
  tag: 'trackers',
  method: 'patch',
  path: '/api/trackers/{id}',
  act: 'tracker.changed',
  tool: 'trackers_update',
  summary: 'Updates the given fields of a tracker. A new condition only records its state at the next check.',
  id: trackerId,
  query: dryRunQuery,
  document: {
    description: 'Fields to update; at most 1 MiB',
    schema: trackerChangeSchema,
    example: { paused: true },
  },
  answers: { 200: enveloped('The tracker', trackerSchema) },
  errors: ['QUOTA_MAX_UNITS'],

  async handle(deps: SaveTrackerDeps & UploadDeps, { account, id, query: { dryRun }, request, reply }) {
    await ownTracker(deps, account, id, 'change');
    const body = await readDocument(deps, { account, request });
    const tracker = await changeTracker(deps, id, { ...account, body, dryRun });
    return sendEnvelope(reply, 200, dryRun ? { dryRun, ...tracker } : tracker);
  },
});

const deleted = z
  .object({ deleted: z.literal(true), trackerId: z.uuid() })
  .register(SCHEMA_NAMES, { id: 'DeletedTracker' });

const deleteTracker = endpoint({
  tag: 'trackers',
  method: 'delete',
  path: '/api/trackers/{id}',
  act: 'tracker.deleted',
  tool: 'trackers_delete',
  summary: 'Deletes a tracker and its alerts. A check that is under way continues, and makes no alerts.',
  id: trackerId,
  answers: { 200: enveloped('The tracker was deleted', deleted) },

  async handle({ database }: { database: Database }, { account, id, reply }) {
    await ownTracker({ database }, account, id, 'change');
    // Its schedule takes the tracker, its states and its alerts with it.
    await deleteSchedule(database, account.accountId, id);
    return sendEnvelope(reply, 200, { deleted: true, trackerId: id });
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

const runTracker = endpoint({
  tag: 'trackers',
  method: 'post',
  path: '/api/trackers/{id}/run',
  act: 'tracker.run',
  tool: 'trackers_run',
  startsCalls: true,
  cost: { shownBy: '/api/trackers/{id}', unitsOf: ({ units }) => units as number },
  summary: 'Checks the products, keywords or screen of a tracker now.',
  id: trackerId,
  answers: { 202: enveloped('The check and its batch', startedRunSchema, 'Location') },
  errors: ['BATCH_STATE', 'LIMIT_REACHED', 'STORAGE_EXCEEDED'],

  async handle(deps: { database: Database } & UploadDeps, call) {
    await ownTracker(deps, call.account, call.id, 'change');
    // The id of a tracker is that of its schedule.
    return sendToWorker(deps, call, (ids) => ({ kind: 'run', ...ids, scheduleId: call.id, of: 'tracker' }));
  },
});

/** Trackers, which check products, keywords or screens and make alerts. */
export const TRACKER_ENDPOINTS = [
  createTracker,
  quoteTracker,
  listTrackers,
  listTrackedValues,
  getTracker,
  updateTracker,
  deleteTracker,
  listTrackerAlerts,
  runTracker,
];
