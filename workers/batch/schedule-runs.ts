import { createHash } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import type { BatchQueue } from '../../jobs/batch-queue.ts';
import { reconcileSchedulers } from '../../jobs/schedulers.ts';
import { insertBatch } from '../../src/batches/create.ts';
import { inTransaction } from '../../src/batches/ending.ts';
import type { PackedCall } from '../../src/batches/pack.ts';
import { BatchFaults, readItems } from '../../src/batches/request.ts';
import { queuedOperation } from '../../src/operations/index.ts';
import { lastRun, nextRuns } from '../../src/schedules/cron.ts';
import { insertRun, isRunning, type Run, type RunTrigger } from '../../src/schedules/run.ts';
import { activeSchedules, dueSchedules, type Schedule, scheduleItems } from '../../src/schedules/schedule.ts';
import { breathe, type PrepareDeps, packed } from './prepare.ts';

/** The clock of whoever told that a schedule is due may be ahead of ours by so much. */
export const CLOCKS_APART_MS = 1_000;

/** A run that begins later than so much after it was due was missed. */
const MISSED_AFTER_MS = 60_000;

const SCHEDULES_AT_ONCE = 50;

const HOUR_MS = 3_600_000;

/**
 * Runs every schedule that is due, once for each tick whichever process comes first. Ticks that passed while nothing ran
 * are run once, for the last of them.
 * @param upTo Unix milliseconds.
 */
export async function runDueSchedules(deps: PrepareDeps, upTo: number): Promise<void> {
  const { database, clock, log } = deps;
  for (const schedule of await dueSchedules(database, upTo, SCHEDULES_AT_ONCE)) {
    const dueAt = lastRun(schedule, upTo);
    const trigger = clock.now() - dueAt > MISSED_AFTER_MS ? 'missed' : 'tick';
    try {
      await startRun(deps, schedule, { dueAt, trigger });
    } catch (error) {
      log.error({ err: error, scheduleId: schedule.scheduleId }, 'running a schedule failed');
    }
  }
}

/** Makes the batch of one run, or notes why there is none. @returns null when this tick has had its run. */
export async function startRun(
  deps: PrepareDeps,
  schedule: Schedule,
  { dueAt, trigger }: { dueAt: number; trigger: RunTrigger },
): Promise<Run | null> {
  const { database, redis, keys, clock } = deps;
  const { scheduleId } = schedule;
  const work = await workOf(deps, schedule);
  const startedAt = clock.now();
  const run: Run = {
    runId: uuid(),
    dueAt,
    startedAt,
    trigger,
    state: 'started',
    reason: null,
    batchId: uuid(),
  };
  const made = await inTransaction(database, async (client) => {
    // It may have been changed, paused or deleted, and another process may be running it.
    const { rows } = await client.query<{ next_due_at: Date | null }>(
      'select next_due_at from schedules where id = $1 for update',
      [scheduleId],
    );
    const [present] = rows;
    if (!present) return null;
    if (trigger !== 'manual') {
      if (present.next_due_at === null || present.next_due_at.getTime() > dueAt) return null;
      await client.query('update schedules set next_due_at = $2 where id = $1', [
        scheduleId,
        new Date(nextRuns(schedule, dueAt, 1)[0] ?? Number.NaN),
      ]);
    }
    const obstacle = 'reason' in work ? work : await obstacleOf(client, scheduleId);
    const noted: Run = obstacle ? { ...run, ...obstacle, batchId: null } : run;
    if (!(await insertRun(client, scheduleId, noted))) return null;
    if (noted.batchId && 'calls' in work)
      await insertBatch(client, newBatch(schedule, noted.batchId, startedAt), work.calls);
    return noted;
  });
  if (made?.batchId) await redis.publish(keys.batchesChannel, made.batchId);
  return made;
}

async function obstacleOf(client: Parameters<typeof isRunning>[0], scheduleId: string) {
  if (!(await isRunning(client, scheduleId))) return null;
  return { state: 'skipped', reason: 'The run before has not finished.' } as const;
}

type Work = { calls: PackedCall[] } | { state: 'failed'; reason: string };

/** Items that were good when the schedule was made may not be any more. */
async function workOf({ database }: PrepareDeps, { scheduleId, operation: name }: Schedule): Promise<Work> {
  const operation = queuedOperation(name);
  if (!operation) return { state: 'failed', reason: `There is no operation ${name} any more.` };
  try {
    const items = await readItems(operation, await scheduleItems(database, scheduleId), breathe);
    return { calls: await packed(operation, items) };
  } catch (error) {
    if (!(error instanceof BatchFaults)) throw error;
    const [fault] = error.faults;
    return { state: 'failed', reason: `items[${fault?.index}].${fault?.parameter}: ${fault?.problem}` };
  }
}

function newBatch(schedule: Schedule, batchId: string, now: number) {
  const { accountId, name, operation, window, webhook, scheduleId, onlyChanges, runHours } = schedule;
  return {
    ...{ batchId, accountId, name, operation, window, webhook, scheduleId, onlyChanges },
    idempotencyKey: null,
    requestHash: createHash('sha256').update(scheduleId).digest(),
    createdAt: now,
    deadlineAt: now + runHours * HOUR_MS,
  };
}

/** Sets the queue's schedulers to what PostgreSQL says. */
export async function reconcileSchedules(
  { database, redis, keys }: PrepareDeps,
  queue: BatchQueue,
): Promise<void> {
  await reconcileSchedulers({ queue, redis, keys }, await activeSchedules(database));
}
