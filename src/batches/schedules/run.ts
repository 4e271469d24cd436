import type { ClientBase } from 'pg';
import { z } from 'zod';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { iso } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import { unixMs } from '../../platform/db/rows.ts';
import { DAY_MS } from '../../platform/durations.ts';

const RUN_TRIGGERS = ['tick', 'missed', 'manual'] as const;
const RUN_STATES = ['started', 'finished', 'skipped', 'failed'] as const;

/** One run of a schedule. Times are Unix milliseconds. */
export interface Run {
  runId: string;
  dueAt: number;
  startedAt: number;
  trigger: (typeof RUN_TRIGGERS)[number];
  /** A run with a batch is stored as `started`. It counts as finished when its batch has finished. */
  state: (typeof RUN_STATES)[number];
  reason: string | null;
  /** The batch of this run. It is kept for a week after its end. */
  batchId: string | null;
}

/** Lists the runs of a schedule, the newest first. */
export async function listRuns(
  database: Database,
  scheduleId: string,
  { before, limit }: { before: string | null; limit: number },
): Promise<Run[]> {
  const { rows } = await database.query<Run>(
    `${SELECT_RUNS}
     where r.schedule_id = $1 and ($2::uuid is null or r.id < $2) order by r.id desc limit $3`,
    [scheduleId, before, limit],
  );
  return rows;
}

/** Returns a run; null if it does not exist. */
export async function findRun(client: ClientBase, runId: string): Promise<Run | null> {
  const { rows } = await client.query<Run>(`${SELECT_RUNS} where r.id = $1`, [runId]);
  return rows[0] ?? null;
}

/** The batch of a finished run is deleted before the run. */
const SELECT_RUNS = `
  select r.id as "runId", ${unixMs('r.due_at')} as "dueAt", ${unixMs('r.started_at')} as "startedAt", r.trigger,
    case when r.state = 'started' and (b.id is null or b.finished_at is not null) then 'finished' else r.state end as state,
    r.reason, r.batch_id as "batchId"
  from schedule_runs r left join batches b on b.id = r.batch_id`;

/** How many runs of a schedule are kept. */
export const RUNS_KEPT = 1_000;

const RUNS_DELETED = 10;

/** Adds a run, and deletes those before the newest RUNS_KEPT. @returns false if the schedule already has a run for this time. */
export async function insertRun(client: ClientBase, scheduleId: string, run: Run): Promise<boolean> {
  const { rowCount } = await client.query(
    `insert into schedule_runs (id, schedule_id, due_at, started_at, trigger, state, reason, batch_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (schedule_id, due_at) where trigger <> 'manual' do nothing`,
    [
      run.runId,
      scheduleId,
      new Date(run.dueAt),
      new Date(run.startedAt),
      run.trigger,
      run.state,
      run.reason,
      run.batchId,
    ],
  );
  if (rowCount !== 1) return false;
  await client.query(
    `delete from schedule_runs where id in (
       select id from schedule_runs where schedule_id = $1 order by id desc offset $2 limit $3)`,
    [scheduleId, RUNS_KEPT, RUNS_DELETED],
  );
  return true;
}

/** Returns whether a batch of an earlier run is still under way. */
export async function isRunning(client: ClientBase, scheduleId: string): Promise<boolean> {
  const { rowCount } = await client.query(
    'select 1 from batches where schedule_id = $1 and finished_at is null limit 1',
    [scheduleId],
  );
  return rowCount !== 0;
}

/** How long runs are kept. */
const RUNS_LIFETIME_MS = 90 * DAY_MS;

/** Deletes runs that started more than RUNS_LIFETIME_MS ago. */
export async function dropOldRuns(database: Database, now: number): Promise<void> {
  await database.query(
    'delete from schedule_runs where id in (select id from schedule_runs where started_at < $1 limit 1000)',
    [new Date(now - RUNS_LIFETIME_MS)],
  );
}

const moment = z.iso.datetime();

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

export function runView(run: Run): RunView {
  const { batchId, dueAt, startedAt } = run;
  const links = { batch: batchId && `/api/batches/${batchId}` };
  return { ...run, dueAt: iso(dueAt), startedAt: iso(startedAt), links };
}
