import { z } from 'zod';
import { SCHEMA_NAMES } from '../../operations/answers/schema-names.ts';
import { FEED_WINDOWS } from '../request-schemas.ts';
import { nextRuns } from './cron.ts';
import { RUN_STATES, RUN_TRIGGERS, type Run } from './run.ts';
import type { Schedule } from './schedule.ts';

const moment = z.iso.datetime();

/** A schedule as its account sees it. Times are ISO 8601. */
export const scheduleSchema = z
  .object({
    scheduleId: z.uuid(),
    name: z.string(),
    cron: z.string(),
    timezone: z.string(),
    paused: z.boolean(),
    nextRuns: z.array(moment).describe('Times of the next runs; empty while the schedule is paused'),
    window: z.enum(FEED_WINDOWS),
    onlyChanges: z.boolean(),
    runHours: z.int(),
    webhook: z.string().nullable(),
    maxUnits: z.int().nullable(),
    operation: z.string(),
    items: z.int(),
    units: z.int().describe('Highest price of a run'),
    createdAt: moment,
    updatedAt: moment,
    links: z.object({ self: z.string(), runs: z.string(), run: z.string() }),
  })
  .register(SCHEMA_NAMES, { id: 'Schedule' });

export type ScheduleView = z.output<typeof scheduleSchema>;

const RUNS_SHOWN = 5;

export function scheduleView(schedule: Schedule, now: number): ScheduleView {
  const self = `/api/schedules/${schedule.scheduleId}`;
  const { name, cron, timezone, paused, window, onlyChanges, runHours, webhook, maxUnits, operation } =
    schedule;
  return {
    scheduleId: schedule.scheduleId,
    ...{ name, cron, timezone, paused },
    nextRuns: paused ? [] : nextRuns(schedule, now, RUNS_SHOWN).map(iso),
    ...{ window, onlyChanges, runHours, webhook, maxUnits, operation },
    items: schedule.itemCount,
    units: schedule.unitsQuoted,
    createdAt: iso(schedule.createdAt),
    updatedAt: iso(schedule.updatedAt),
    links: { self, runs: `${self}/runs`, run: `${self}/run` },
  };
}

export const runSchema = z
  .object({
    runId: z.uuid(),
    dueAt: moment,
    startedAt: moment,
    trigger: z
      .enum(RUN_TRIGGERS)
      .describe(
        'tick: started on time; missed: started late, because the service was down; manual: started by a request',
      ),
    state: z
      .enum(RUN_STATES)
      .describe('started: the batch is not finished; finished: it is; skipped or failed: there is no batch'),
    reason: z.string().nullable(),
    batchId: z.uuid().nullable(),
    links: z.object({ batch: z.string().nullable() }),
  })
  .register(SCHEMA_NAMES, { id: 'ScheduleRun' });

export type RunView = z.output<typeof runSchema>;

export function runView({ runId, dueAt, startedAt, trigger, state, reason, batchId }: Run): RunView {
  return {
    runId,
    dueAt: iso(dueAt),
    startedAt: iso(startedAt),
    ...{ trigger, state, reason, batchId },
    links: { batch: batchId && `/api/batches/${batchId}` },
  };
}

function iso(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
