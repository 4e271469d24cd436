import { z } from 'zod';
import { newScheduleSchema, scheduleChangeSchema } from '../../batches/schedules/read-schedule.ts';
import { listRuns, runSchema, runView } from '../../batches/schedules/run.ts';
import { changeSchedule, createSchedule } from '../../batches/schedules/save-schedule.ts';
import {
  findSchedule,
  listSchedules as findSchedules,
  scheduleItemsText,
  scheduleSchema,
  scheduleView,
} from '../../batches/schedules/schedule.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { boolean } from '../../operations/params/scalars.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import { joinObjects } from '../../platform/json.ts';
import { inMode, JSON_TYPE, okText } from '../../results/envelope.ts';
import { modeOfReply, sendEnvelope, setFacts } from '../envelope.ts';
import { enveloped } from '../openapi/responses.ts';
import { owned, readableOperations } from '../plugins/authentication.ts';
import { endpoint } from './endpoint.ts';
import { cutPage, pageOf } from './page.ts';
import { pageQuery, recurringEndpoints } from './recurring.ts';

export interface ScheduleDeps {
  database: Database;
  clock: Clock;
}

const scheduleId = { of: 'the schedule', unknown: 'SCHEDULE_NOT_FOUND' } as const;

const ownSchedule = owned(scheduleId.unknown, ({ database }: { database: Database }, accountId, id) =>
  findSchedule(database, accountId, id),
);

const { create, quote, update, remove, run } = recurringEndpoints({
  kind: 'schedule',
  id: scheduleId,
  summaries: {
    create: 'Creates a schedule: a batch that runs at regular times.',
    quote: 'Checks a schedule and returns it with its price and next runs, without creating it.',
    update: 'Updates the given fields of a schedule.',
    delete: 'Deletes a schedule. Batches that are under way continue.',
    run: 'Runs a schedule now.',
  },
  run: 'run',
  schema: scheduleSchema,
  created: {
    description: 'The times of the runs, and the batch of each run; at most 1 MiB',
    schema: newScheduleSchema,
    example: {
      name: 'Every Monday',
      cron: '0 6 * * 1',
      timezone: 'Europe/Berlin',
      batch: { operation: 'market.product', items: [{ domain: 1, asins: ['B08N5WRWNX'] }] },
    },
  },
  changed: {
    description: 'Fields to update; at most 1 MiB',
    schema: scheduleChangeSchema,
    example: { paused: true },
  },
  create: createSchedule,
  change: changeSchedule,
  requireOwn: (deps, account, id) => ownSchedule(deps, account, id, 'change'),
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

/** Schedules, which create batches at regular times. */
export const SCHEDULE_ENDPOINTS = [
  create,
  quote,
  listSchedules,
  getSchedule,
  update,
  remove,
  listScheduleRuns,
  run,
];
