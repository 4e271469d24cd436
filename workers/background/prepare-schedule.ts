import type { BatchJob } from '../../jobs/batch-queue.ts';
import type { Reply } from '../../jobs/replies.ts';
import { requireKeyFor } from '../../src/accounts/key-standing.ts';
import {
  ACCOUNT_LIMITS,
  countSchedules,
  limitsFor,
  requireScheduleRoom,
} from '../../src/batches/account-limits.ts';
import { findBatch } from '../../src/batches/batch.ts';
import { BatchFaults } from '../../src/batches/batch-faults.ts';
import { deleteContents, deleteContentsOfOtherItems } from '../../src/batches/changes.ts';
import { itemHash } from '../../src/batches/lines.ts';
import { readItems } from '../../src/batches/request.ts';
import { cronProblem, nextRuns } from '../../src/batches/schedules/cron.ts';
import {
  readSchedule,
  readScheduleChange,
  type ScheduleRequest,
} from '../../src/batches/schedules/request.ts';
import {
  findSchedule,
  firstDueAt,
  insertSchedule,
  lockSchedule,
  type Schedule,
  updateSchedule,
} from '../../src/batches/schedules/schedule.ts';
import { runView, scheduleView } from '../../src/batches/schedules/view.ts';
import { batchView } from '../../src/batches/view.ts';
import { offPeakOpening } from '../../src/billing/off-peak.ts';
import { queuedOperation } from '../../src/operations/index.ts';
import type { Queryable } from '../../src/platform/db/pool.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { SoukError } from '../../src/platform/errors.ts';
import { okBody } from '../../src/results/envelope.ts';
import {
  answerUpload,
  checkedWebhook,
  checkMaxUnits,
  type PrepareDeps,
  packedCalls,
  unitsOf,
  yieldToEvents,
} from './prepare.ts';
import { runOnDemand } from './schedule-runs.ts';

type ScheduleUpload = Extract<BatchJob, { kind: 'schedule' }>;
type RunUpload = Extract<BatchJob, { kind: 'run' }>;

const HOUR_MS = 3_600_000;

/** How many runs are checked for an overlap with the off-peak window. */
const RUNS_CHECKED = 5;

/** Creates or changes a schedule from an upload, and replies to the request that sent it. */
export async function prepareSchedule(deps: PrepareDeps, upload: ScheduleUpload): Promise<void> {
  const { scheduleId } = upload;
  await answerUpload(deps, upload.uploadId, (body) =>
    scheduleId === null
      ? createSchedule(deps, upload, body)
      : changeSchedule(deps, { ...upload, scheduleId }, body),
  );
}

async function createSchedule(deps: PrepareDeps, upload: ScheduleUpload, body: string): Promise<Reply> {
  const now = deps.clock.now();
  const { batch, ...settings } = await readSchedule(body);
  const { fields } = await quote(deps, upload, batch);
  const webhook = await checkedWebhook(deps, upload.accountId, settings.webhook, 'batch.webhook');
  // The id of the upload, so that an upload that is read twice creates one schedule.
  const { uploadId: scheduleId, accountId, keyId } = upload;
  const dates = { createdAt: now, updatedAt: now, nextDueAt: null };
  const wanted: Schedule = { scheduleId, accountId, keyId, ...settings, ...fields, webhook, ...dates };
  await check(deps, wanted, now);
  const schedule = { ...wanted, nextDueAt: firstDueAt(wanted, now) };
  const view = scheduleView(schedule, now);
  if (upload.dryRun) return dryRunReply(view);
  await inTransaction(deps.database, async (client) => {
    const schedules = await countSchedules(client, accountId);
    // If this upload was read before, its schedule exists already.
    if (await findSchedule(client, accountId, scheduleId)) return;
    requireScheduleRoom(schedules, limitsFor(accountId, deps.accountLimits ?? ACCOUNT_LIMITS));
    await insertSchedule(client, schedule, batch.raws);
  });
  return { status: 201, location: view.links.self, body: okBody(view, 'created') };
}

async function changeSchedule(
  deps: PrepareDeps,
  upload: ScheduleUpload & { scheduleId: string },
  body: string,
): Promise<Reply> {
  const { batch, ...settings } = await readScheduleChange(body);
  const read = batch && (await quote(deps, upload, batch));
  const webhook =
    settings.webhook === undefined
      ? undefined
      : await checkedWebhook(deps, upload.accountId, settings.webhook, 'batch.webhook');
  const kept = batch && (await hashesOf(batch.raws));
  // Locked from here on, so that no concurrent change is lost and no run starts in between.
  const changed = await inTransaction(deps.database, async (client) => {
    const now = deps.clock.now();
    const present = await lockSchedule(client, upload.scheduleId, 'wait');
    if (present?.accountId !== upload.accountId) throw new SoukError('SCHEDULE_NOT_FOUND');
    const { keyId } = upload;
    await requireKeyFor(client, keyId, queuedOperation(present.operation), now);
    const fields = { ...settings, ...read?.fields, ...(webhook === undefined ? {} : { webhook }) };
    const merged: Schedule = { ...present, ...fields, keyId, updatedAt: now };
    await check({ ...deps, database: client }, merged, now);
    const schedule = isRetimed(present, merged) ? { ...merged, nextDueAt: firstDueAt(merged, now) } : merged;
    if (!upload.dryRun) {
      await updateSchedule(client, schedule, batch?.raws ?? null);
      if (merged.onlyChanges && !present.onlyChanges) await deleteContents(client, upload.scheduleId);
      else if (kept) await deleteContentsOfOtherItems(client, upload.scheduleId, kept);
    }
    return scheduleView(schedule, now);
  });
  if (upload.dryRun) return dryRunReply(changed);
  return { status: 200, location: null, body: okBody(changed) };
}

/** Runs a schedule, or that of a tracker, now, for a request. */
export async function runNow(
  deps: PrepareDeps,
  { uploadId, accountId, keyId, scheduleId, of }: RunUpload,
): Promise<void> {
  await answerUpload(deps, uploadId, async (): Promise<Reply> => {
    const run = await runOnDemand(deps, { scheduleId, keyId, runId: uploadId });
    if (!run) throw new SoukError(of === 'tracker' ? 'TRACKER_NOT_FOUND' : 'SCHEDULE_NOT_FOUND');
    const batch = run.batchId ? await findBatch(deps.database, accountId, run.batchId) : null;
    const view = batch && batchView(batch);
    const location = view ? view.links.self : null;
    return { status: 202, location, body: okBody({ run: runView(run), batch: view }, 'accepted') };
  });
}

/** Returns the reply to a request that only asks for the price. */
export function dryRunReply(view: object): Reply {
  return { status: 200, location: null, body: okBody({ dryRun: true, ...view }) };
}

/** Only changes of these fields move the next run. */
export function isRetimed(before: Schedule, after: Schedule): boolean {
  return before.cron !== after.cron || before.timezone !== after.timezone || before.paused !== after.paused;
}

/** Returns the hashes of items. */
export async function hashesOf(raws: readonly unknown[]): Promise<Buffer[]> {
  const hashes: Buffer[] = [];
  for (const raw of raws) {
    hashes.push(itemHash(raw));
    if (hashes.length % ITEMS_BETWEEN_YIELDS === 0) await yieldToEvents();
  }
  return hashes;
}

const ITEMS_BETWEEN_YIELDS = 200;

/** Returns what a schedule says about its items. @throws BatchFaults, or SoukError KEY_FORBIDDEN or KEY_SCOPE_MISSING. */
export async function quote(
  { database, clock }: { database: Queryable; clock: PrepareDeps['clock'] },
  { keyId }: { keyId: number | null },
  { operation, raws }: ScheduleRequest['batch'],
) {
  const now = clock.now();
  await requireKeyFor(database, keyId, operation, now);
  const items = await readItems(operation, raws, yieldToEvents, now);
  const calls = await packedCalls(operation, items);
  return { fields: { operation: operation.name, itemCount: items.length, unitsQuoted: unitsOf(calls) } };
}

/** @throws BatchFaults, or SoukError QUOTA_MAX_UNITS. */
export async function check(
  { database, offPeak }: { database: Queryable; offPeak: PrepareDeps['offPeak'] },
  schedule: Schedule,
  now: number,
): Promise<void> {
  const problem = cronProblem(schedule, now);
  if (problem) throw new BatchFaults([{ parameter: 'cron', problem }]);
  checkMaxUnits(schedule.unitsQuoted, schedule.maxUnits);
  if (schedule.window !== 'off_peak') return;
  for (const runAt of nextRuns(schedule, now, RUNS_CHECKED)) {
    const { isOpen, opensAt } = await offPeakOpening(database, offPeak, runAt);
    const endsAt = runAt + schedule.runHours * HOUR_MS;
    if (isOpen || opensAt < endsAt) continue;
    const at = (unixMs: number) => new Date(unixMs).toISOString();
    const contradiction = `contradicts cron and runHours: the run of ${at(runAt)} ends at ${at(endsAt)}, before the off-peak window opens at ${at(opensAt)}`;
    throw new BatchFaults([{ parameter: 'window', problem: contradiction }]);
  }
}
