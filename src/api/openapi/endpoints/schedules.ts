import { z } from 'zod';
import { newScheduleSchema, scheduleChangeSchema } from '../../../batches/schedules/request.ts';
import { runSchema, scheduleSchema } from '../../../batches/schedules/view.ts';
import { batchSchema } from '../../../batches/view.ts';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import { boolean } from '../../../operations/params/scalars.ts';
import { pageSchema } from '../../schedules.ts';
import { enveloped } from '../responses.ts';
import { bodySchemaOf, reference } from '../schemas.ts';
import { type Endpoint, endpointPaths, pageOf } from './endpoint.ts';

const schedule = reference(scheduleSchema);

const schedulesPage = pageOf('SchedulesPage', 'schedules', scheduleSchema);
const runsPage = pageOf('ScheduleRunsPage', 'runs', runSchema);

const preview = scheduleSchema
  .extend({ dryRun: z.literal(true) })
  .register(SCHEMA_NAMES, { id: 'SchedulePreview' });

const started = z
  .object({ run: runSchema, batch: batchSchema.nullable() })
  .register(SCHEMA_NAMES, { id: 'StartedRun' });

const deleted = z
  .object({ deleted: z.literal(true), scheduleId: z.uuid() })
  .register(SCHEMA_NAMES, { id: 'DeletedSchedule' });

const dryRunQuery = z.object({
  dryRun: boolean().default(false).describe('Only check the request and say what it would cost'),
});

export const SCHEDULE_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/api/schedules',
    tool: 'schedules_create',
    summary: 'Makes a batch that comes again and again.',
    query: dryRunQuery,
    body: {
      description: 'When it is due, and what is done then',
      content: {
        'application/json': {
          schema: bodySchemaOf(newScheduleSchema),
          example: {
            name: 'Every Monday',
            cron: '0 6 * * 1',
            timezone: 'Europe/Berlin',
            batch: { operation: 'market.product', items: [{ domain: 1, asins: ['B08N5WRWNX'] }] },
          },
        },
      },
    },
    answers: {
      200: enveloped('With dryRun: the schedule as it would be', reference(preview)),
      201: enveloped('The schedule', schedule, 'Location'),
    },
    errors: ['QUOTA_MAX_UNITS'],
  },
  {
    method: 'get',
    path: '/api/schedules',
    tool: 'schedules_list',
    summary: 'Lists schedules, the newest first.',
    query: pageSchema,
    answers: { 200: enveloped('A page', reference(schedulesPage)) },
  },
  {
    method: 'get',
    path: '/api/schedules/{id}',
    tool: 'schedules_get',
    summary: 'Describes a schedule and when it is due.',
    idOf: 'the schedule',
    answers: { 200: enveloped('The schedule', schedule) },
    errors: ['SCHEDULE_NOT_FOUND'],
  },
  {
    method: 'patch',
    path: '/api/schedules/{id}',
    tool: 'schedules_update',
    summary: 'Changes what is sent of a schedule.',
    idOf: 'the schedule',
    query: dryRunQuery,
    body: {
      description: 'What is to change',
      content: {
        'application/json': { schema: bodySchemaOf(scheduleChangeSchema), example: { paused: true } },
      },
    },
    answers: {
      200: enveloped('The schedule', {
        anyOf: [{ ...schedule }, { ...reference(preview) }],
      }),
    },
    errors: ['SCHEDULE_NOT_FOUND', 'QUOTA_MAX_UNITS'],
  },
  {
    method: 'delete',
    path: '/api/schedules/{id}',
    tool: 'schedules_delete',
    summary: 'Ends a schedule; batches that are under way go on.',
    idOf: 'the schedule',
    answers: { 200: enveloped('It is gone', reference(deleted)) },
    errors: ['SCHEDULE_NOT_FOUND'],
  },
  {
    method: 'get',
    path: '/api/schedules/{id}/runs',
    tool: 'schedules_list_runs',
    summary: "Lists a schedule's runs, the newest first.",
    idOf: 'the schedule',
    query: pageSchema,
    answers: { 200: enveloped('A page', reference(runsPage)) },
    errors: ['SCHEDULE_NOT_FOUND'],
  },
  {
    method: 'post',
    path: '/api/schedules/{id}/run',
    tool: 'schedules_run',
    cost: { toldBy: '/api/schedules/{id}', unitsOf: ({ units }) => units as number },
    summary: 'Runs a schedule now.',
    idOf: 'the schedule',
    answers: { 202: enveloped('The run and its batch', reference(started), 'Location') },
    errors: ['SCHEDULE_NOT_FOUND'],
  },
];

export const schedulePaths = () => endpointPaths('schedules', SCHEDULE_ENDPOINTS);
