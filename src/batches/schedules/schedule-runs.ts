import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';
import { v7 as uuid } from 'uuid';
import { isLimited, obstacleOfKey, requireKeyFor } from '../../accounts/account-keys.ts';
import { queuedOperation } from '../../operations/index.ts';
import type { Providers } from '../../operations/pools.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { HOUR_MS, MINUTE_MS } from '../../platform/durations.ts';
import { ERRORS, type ErrorKind, SoukError } from '../../platform/errors.ts';
import { okBody } from '../../results/envelope.ts';
import { batchView, findBatch } from '../batch.ts';
import { type BundledCall, bundleAll } from '../bundle.ts';
import { insertBatch, type PrepareDeps } from '../create-batch.ts';
import { ACCOUNT_LIMITS, countOpenBatches, limitsFor, storedByAccount } from '../limits.ts';
import { workerPauses } from '../pauses.ts';
import { readItems } from '../read-batch.ts';
import { dueScreens, takeNewestWeek } from '../trackers/screen-runs.ts';
import { BatchFaults } from '../upload-text.ts';
import { answerUpload, type BatchJob, requireWaiting } from '../uploads.ts';
import { lastRun, nextRuns } from './cron.ts';
import { findRun, insertRun, isRunning, type Run, runView } from './run.ts';
import { dueSchedules, lockSchedule, type Schedule, scheduleItems, setKey, setNextDue } from './schedule.ts';

export interface RunDeps extends PrepareDeps {
  providers: Providers;
}

/** A run that starts this long after its time counts as missed. */
const MISSED_AFTER_MS = MINUTE_MS;

const SCHEDULES_AT_ONCE = 50;

/** Runs every schedule that is due, once for each time in all processes. */
export async function runDueSchedules(deps: PrepareDeps): Promise<void> {
  const { database, clock, log } = deps;
  for (;;) {
    const due = await dueSchedules(database, clock.now(), SCHEDULES_AT_ONCE);
    let runs = 0;
    for (const scheduleId of due) {
      try {
        if (await runIfDue(deps, scheduleId, clock.now())) runs += 1;
      } catch (error) {
        log.error({ err: error, scheduleId }, 'failed to run a schedule');
      }
    }
    if (due.length < SCHEDULES_AT_ONCE || runs === 0) return;
  }
}

/** Runs every saved screen for whose site a week was imported since its last run, once for each week in all processes. */
export async function runDueScreens(deps: RunDeps): Promise<void> {
  const { database, clock, log, providers } = deps;
  for (;;) {
    const due = await dueScreens(database, providers.reports, SCHEDULES_AT_ONCE);
    let runs = 0;
    for (const trackerId of due) {
      try {
        const run = await beginRun(deps, async (client) => {
          const schedule = await lockSchedule(client, trackerId, 'skip');
          if (!schedule || schedule.paused) return null;
          const week = await takeNewestWeek(client, providers.reports, trackerId, false);
          const about = { runId: uuid(), dueAt: clock.now(), trigger: 'tick' } as const;
          return week === null ? null : noteRun(deps, client, schedule, about, week);
        });
        if (run) runs += 1;
      } catch (error) {
        log.error({ err: error, trackerId }, 'failed to run a screen');
      }
    }
    if (due.length < SCHEDULES_AT_ONCE || runs === 0) return;
  }
}

/**
 * Runs a schedule if it was due by `upTo`. If several times were missed, it runs once, for the last of them.
 * @returns null if it is not due, or another process is running it.
 */
async function runIfDue(deps: PrepareDeps, scheduleId: string, upTo: number): Promise<Run | null> {
  const { clock } = deps;
  return beginRun(deps, async (client) => {
    const schedule = await lockSchedule(client, scheduleId, 'skip');
    if (!schedule || schedule.nextDueAt === null || schedule.nextDueAt > upTo) return null;
    const dueAt = Math.max(schedule.nextDueAt, lastRun(schedule, upTo) ?? 0);
    await setNextDue(client, scheduleId, nextRuns(schedule, dueAt, 1)[0] ?? null);
    const trigger = clock.now() - dueAt > MISSED_AFTER_MS ? 'missed' : 'tick';
    return noteRun(deps, client, schedule, { runId: uuid(), dueAt, trigger });
  });
}

/** Runs a schedule, or that of a tracker, now, and replies to the request. */
export async function runNow(
  deps: RunDeps,
  { uploadId, accountId, keyId, scheduleId, of }: Extract<BatchJob, { kind: 'run' }>,
): Promise<void> {
  await answerUpload(deps, uploadId, async () => {
    const run = await runOnDemand(deps, { scheduleId, keyId, runId: uploadId });
    if (!run) throw new SoukError(of === 'tracker' ? 'TRACKER_NOT_FOUND' : 'SCHEDULE_NOT_FOUND');
    const batch = run.batchId ? await findBatch(deps.database, accountId, run.batchId) : null;
    const view = batch && batchView(batch);
    const location = view ? view.links.self : null;
    return { status: 202, location, body: okBody({ run: runView(run), batch: view }, 'accepted') };
  });
}

/**
 * Runs a schedule on demand. The run counts for the key of the request, and if that key has limits, so do all later ones.
 * @param request runId: id of the upload, so that an upload that is read twice starts one run.
 * @returns null if the schedule does not exist.
 * @throws SoukError if it cannot run now; then nothing is recorded, because the request is free. KEY_FORBIDDEN or KEY_SCOPE_MISSING.
 */
async function runOnDemand(
  deps: RunDeps,
  { scheduleId, keyId, runId }: { scheduleId: string; keyId: number | null; runId: string },
): Promise<Run | null> {
  return beginRun(deps, async (client) => {
    const schedule = await lockSchedule(client, scheduleId, 'wait');
    if (!schedule) return null;
    const made = await findRun(client, runId);
    if (made) return made;
    const now = deps.clock.now();
    await requireKeyFor(client, keyId, queuedOperation(schedule.operation), now);
    const week = await takeNewestWeek(client, deps.providers.reports, scheduleId, true);
    const about = { runId, dueAt: now, trigger: 'manual' } as const;
    const run = await noteRun(deps, client, { ...schedule, keyId }, about, week);
    if (run?.batchId && (await isLimited(client, keyId, now))) await setKey(client, scheduleId, keyId);
    await requireWaiting(deps.redis, deps.keys, runId);
    return run;
  });
}

async function beginRun(
  { database, redis, keys }: PrepareDeps,
  begin: (client: ClientBase) => Promise<Run | null>,
): Promise<Run | null> {
  const run = await inTransaction(database, begin);
  if (run?.batchId) await redis.publish(keys.batchesChannel, run.batchId);
  return run;
}

/**
 * Creates the batch of a run of a locked schedule, or records why there is none.
 * @param week that the screen of a tracker reads.
 * @returns null if the schedule
 * already has a run for this time.
 */
async function noteRun(
  deps: PrepareDeps,
  client: ClientBase,
  schedule: Schedule,
  { runId, dueAt, trigger }: Pick<Run, 'runId' | 'dueAt' | 'trigger'>,
  week: string | null = null,
): Promise<Run | null> {
  const startedAt = deps.clock.now();
  const about = { runId, dueAt, startedAt, trigger };
  const work =
    (await obstacleOf(deps, client, schedule)) ?? (await workOf(client, schedule, week, startedAt));
  if (!('calls' in work)) {
    const { kind, state, reason } = work;
    if (trigger === 'manual') throw refusedRun(kind, reason);
    const run: Run = { ...about, state, reason, batchId: null };
    return (await insertRun(client, schedule.scheduleId, run)) ? run : null;
  }
  const batchId = uuid();
  const run: Run = { ...about, state: 'started', reason: null, batchId };
  if (!(await insertRun(client, schedule.scheduleId, run))) return null;
  await insertBatch(client, newBatch(schedule, batchId, startedAt), work.calls);
  return run;
}

const RETRY_AFTER_SECONDS = 60;

function refusedRun(kind: ErrorKind, message: string): SoukError {
  return new SoukError(kind, {
    message,
    ...(ERRORS[kind].status === 429 ? { retryAfterSeconds: RETRY_AFTER_SECONDS } : {}),
  });
}

async function obstacleOf(
  { redis, keys, clock, accountLimits = ACCOUNT_LIMITS }: PrepareDeps,
  client: ClientBase,
  { scheduleId, accountId, keyId, operation }: Schedule,
) {
  const limits = limitsFor(accountId, accountLimits);
  const skipped = (kind: ErrorKind, reason: string) => ({ state: 'skipped', reason, kind }) as const;
  if (await isRunning(client, scheduleId))
    return skipped('BATCH_STATE', 'The previous run has not finished.');
  const ofKey = await obstacleOfKey(client, keyId, queuedOperation(operation), clock.now());
  if (ofKey !== null) return skipped('KEY_SCOPE_MISSING', ofKey);
  const open = await countOpenBatches(client, accountId);
  if (open >= limits.openBatches)
    return skipped('LIMIT_REACHED', `The account has ${open} batches that are not finished.`);
  const stored = await storedByAccount({ database: client, redis, keys }, accountId);
  if (stored >= limits.storedBytes)
    return skipped('STORAGE_EXCEEDED', `The account has ${stored} bytes of stored results.`);
  return null;
}

type Work = { calls: BundledCall[] } | { state: 'failed'; reason: string; kind: ErrorKind };

/** Items that were valid when the schedule was created may have become invalid. */
async function workOf(
  client: ClientBase,
  { scheduleId, operation: name }: Schedule,
  week: string | null,
  now: number,
): Promise<Work> {
  const operation = queuedOperation(name);
  const failed = (reason: string) => ({ state: 'failed', reason, kind: 'VALIDATION_FAILED' }) as const;
  if (!operation) return failed(`The operation ${name} no longer exists.`);
  try {
    const pause = workerPauses();
    const stored = await scheduleItems(client, scheduleId);
    const raws = week === null ? stored : stored.map((raw) => ({ ...(raw as object), week }));
    const items = await readItems(operation, raws, pause, now);
    const { calls } = await bundleAll(operation, items, pause);
    return { calls };
  } catch (error) {
    if (!(error instanceof BatchFaults)) throw error;
    const [fault] = error.faults;
    return failed(`items[${fault?.index}].${fault?.parameter}: ${fault?.problem}`);
  }
}

function newBatch(schedule: Schedule, batchId: string, now: number) {
  const { accountId, keyId, name, operation, window, webhook, scheduleId, onlyChanges, runHours } = schedule;
  return {
    batchId,
    accountId,
    keyId,
    name,
    operation,
    window,
    webhook,
    scheduleId,
    onlyChanges,
    idempotencyKey: null,
    requestHash: createHash('sha256').update(scheduleId).digest(),
    createdAt: now,
    deadlineAt: now + runHours * HOUR_MS,
  };
}
