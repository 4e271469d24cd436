import { z } from 'zod';
import { batchSchema } from '../../batches/batch.ts';
import { newScheduleSchema, scheduleChangeSchema } from '../../batches/schedules/read-schedule.ts';
import { listRuns, runSchema, runView } from '../../batches/schedules/run.ts';
import {
  changeSchedule,
  createSchedule as create,
  type SaveDeps,
} from '../../batches/schedules/save-schedule.ts';
import {
  findSchedule,
  listSchedules as findSchedules,
  deleteSchedule as remove,
  type Schedule,
  scheduleItemsText,
  scheduleSchema,
  scheduleView,
} from '../../batches/schedules/schedule.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { boolean, integer } from '../../operations/params/scalars.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import { SoukError } from '../../platform/errors.ts';
import { joinObjects } from '../../platform/json.ts';
import { inMode, JSON_TYPE, okText } from '../../results/envelope.ts';
import { modeOfReply, sendEnvelope, setFacts } from '../envelope.ts';
import { uuidParameter } from '../ids.ts';
import { enveloped } from '../openapi/responses.ts';
import { type Account, readableOperations, requireUse } from '../plugins/authentication.ts';
import { dryRunQuery, readDocument, sendToWorker, type UploadDeps } from '../uploads.ts';
import { endpoint } from './endpoint.ts';
import { cutPage, pageOf } from './page.ts';

export interface ScheduleDeps {
  database: Database;
  clock: Clock;
}

const scheduleId = { of: 'the schedule', unknown: 'SCHEDULE_NOT_FOUND' } as const;

/**
 * Returns a schedule of the account that its key may use.
 * @throws SoukError SCHEDULE_NOT_FOUND, also for a schedule of another account, or KEY_SCOPE_MISSING.
 */
async function ownSchedule(
  { database }: Pick<ScheduleDeps, 'database'>,
  account: Account,
  id: string,
  use: 'read' | 'change' = 'read',
): Promise<Schedule> {
  const schedule = await findSchedule(database, account.accountId, id);
  if (!schedule) throw new SoukError('SCHEDULE_NOT_FOUND');
  requireUse(account, schedule.operation, use);
  return schedule;
}

export const pageQuery = z.object({
  limit: integer({ min: 1, max: 100 }).default(50).describe('Entries per page'),
  cursor: uuidParameter('the last entry of the previous page').optional(),
});

/** Answer to creating or updating a schedule with dryRun. */
const previewSchema = scheduleSchema
  .extend({ dryRun: z.literal(true) })
  .register(SCHEMA_NAMES, { id: 'SchedulePreview' });

/** What a schedule and its quote share. */
const NEW_SCHEDULE = {
  tag: 'schedules',
  method: 'post',
  document: {
    description: 'The times of the runs, and the batch of each run; at most 1 MiB',
    schema: newScheduleSchema,
    example: {
      name: 'Every Monday',
      cron: '0 6 * * 1',
      timezone: 'Europe/Berlin',
      batch: { operation: 'market.product', items: [{ domain: 1, asins: ['B08N5WRWNX'] }] },
    },
  },
  errors: ['LIMIT_REACHED', 'QUOTA_MAX_UNITS'],
} as const;

const createSchedule = endpoint({
  ...NEW_SCHEDULE,
  path: '/api/schedules',
  act: 'schedule.created',
  tool: 'schedules_create',
  startsCalls: true,
  summary: 'Creates a schedule: a batch that runs at regular times.',
  query: dryRunQuery,
  answers: { 201: enveloped('The schedule', scheduleSchema, 'Location') },

  async handle(deps: SaveDeps & UploadDeps, { account, query: { dryRun }, request, reply }) {
    const body = await readDocument(deps, { account, request });
    const schedule = await create(deps, { ...account, body, dryRun });
    if (dryRun) return sendEnvelope(reply, 200, { dryRun, ...schedule });
    reply.header('location', schedule.links.self);
    return sendEnvelope(reply, 201, schedule, { message: 'created' });
  },
});

const quoteSchedule = endpoint({
  ...NEW_SCHEDULE,
  path: '/api/schedules/quote',
  act: null,
  summary: 'Checks a schedule and returns it with its price and next runs, without creating it.',
  answers: { 200: enveloped('The schedule that would be created', previewSchema) },

  async handle(deps: SaveDeps & UploadDeps, { account, request, reply }) {
    const body = await readDocument(deps, { account, request });
    const schedule = await create(deps, { ...account, body, dryRun: true });
    return sendEnvelope(reply, 200, { dryRun: true, ...schedule });
  },
});

const listSchedules = endpoint({
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
      operations: readableOperations(account),
      before: cursor,
      limit: limit + 1,
    });
    const { entries, nextCursor } = cutPage(found, limit, (schedule) => schedule.scheduleId);
    return sendEnvelope(reply, 200, {
      schedules: entries.map((schedule) => scheduleView(schedule, clock.now())),
      nextCursor,
    });
  },
});

const scheduleWithItems = scheduleSchema
  .extend({
    itemList: z.array(z.unknown()).optional().describe('The items as they were sent; only with items=1'),
  })
  .register(SCHEMA_NAMES, { id: 'ScheduleWithItems' });

const getSchedule = endpoint({
  tag: 'schedules',
  method: 'get',
  path: '/api/schedules/{id}',
  tool: 'schedules_get',
  summary: 'Returns a schedule and the times of its next runs.',
  id: scheduleId,
  query: z.object({
    items: boolean().default(false).describe('Include the items as they were sent'),
  }),
  answers: { 200: enveloped('The schedule', scheduleWithItems) },
  // Items are up to 8 MiB of text.
  occupies: ({ query }) => ((query as { items?: unknown }).items === undefined ? 'waiting' : 'downloads'),

  async handle(deps: ScheduleDeps, { account, id, query, reply }) {
    const schedule = await ownSchedule(deps, account, id);
    const view = scheduleView(schedule, deps.clock.now());
    if (!query.items) return sendEnvelope(reply, 200, view);
    const items = await scheduleItemsText(deps.database, schedule.scheduleId);
    setFacts(reply);
    const data = joinObjects(JSON.stringify(view), `{"itemList":${items}}`);
    return reply.header('content-type', JSON_TYPE).send(inMode(modeOfReply(reply), okText(data)));
  },
});

const updateSchedule = endpoint({
  tag: 'schedules',
  method: 'patch',
  path: '/api/schedules/{id}',
  act: 'schedule.changed',
  tool: 'schedules_update',
  summary: 'Updates the given fields of a schedule.',
  id: scheduleId,
  query: dryRunQuery,
  document: {
    description: 'Fields to update; at most 1 MiB',
    schema: scheduleChangeSchema,
    example: { paused: true },
  },
  answers: { 200: enveloped('The schedule', scheduleSchema) },
  errors: ['QUOTA_MAX_UNITS'],

  async handle(deps: SaveDeps & UploadDeps, { account, id, query: { dryRun }, request, reply }) {
    await ownSchedule(deps, account, id, 'change');
    const body = await readDocument(deps, { account, request });
    const schedule = await changeSchedule(deps, id, { ...account, body, dryRun });
    return sendEnvelope(reply, 200, dryRun ? { dryRun, ...schedule } : schedule);
  },
});

const deleted = z
  .object({ deleted: z.literal(true), scheduleId: z.uuid() })
  .register(SCHEMA_NAMES, { id: 'DeletedSchedule' });

const deleteSchedule = endpoint({
  tag: 'schedules',
  method: 'delete',
  path: '/api/schedules/{id}',
  act: 'schedule.deleted',
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

const listScheduleRuns = endpoint({
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

/** A run that was started on demand. */
export const startedRunSchema = z
  .object({ run: runSchema, batch: batchSchema.nullable() })
  .register(SCHEMA_NAMES, { id: 'StartedRun' });

const runSchedule = endpoint({
  tag: 'schedules',
  method: 'post',
  path: '/api/schedules/{id}/run',
  act: 'schedule.run',
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

/** Schedules, which create batches at regular times. */
export const SCHEDULE_ENDPOINTS = [
  createSchedule,
  quoteSchedule,
  listSchedules,
  getSchedule,
  updateSchedule,
  deleteSchedule,
  listScheduleRuns,
  runSchedule,
];
