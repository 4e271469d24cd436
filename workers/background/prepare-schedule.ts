import type { BatchJob } from '../../jobs/batch-queue.ts';
import type { Reply } from '../../jobs/replies.ts';
import { findBatch } from '../../src/batches/batch.ts';
import { forgetContents, forgetOthers } from '../../src/batches/changes.ts';
import { itemHash } from '../../src/batches/lines.ts';
import { BatchFaults, readItems } from '../../src/batches/request.ts';
import { cronProblem, nextRuns } from '../../src/batches/schedules/cron.ts';
import {
  readSchedule,
  readScheduleChange,
  type ScheduleRequest,
} from '../../src/batches/schedules/request.ts';
import {
  firstDueAt,
  insertSchedule,
  lockSchedule,
  type Schedule,
  updateSchedule,
} from '../../src/batches/schedules/schedule.ts';
import { runView, type ScheduleView, scheduleView } from '../../src/batches/schedules/view.ts';
import { batchView } from '../../src/batches/view.ts';
import { offPeakOpening } from '../../src/billing/off-peak.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { SoukError } from '../../src/platform/errors.ts';
import { okBody } from '../../src/results/envelope.ts';
import {
  answerUpload,
  breathe,
  checkedWebhook,
  type PrepareDeps,
  packed,
  refuseWhenTooDear,
  unitsOf,
} from './prepare.ts';
import { runOnDemand } from './schedule-runs.ts';

type ScheduleOrder = Extract<BatchJob, { kind: 'schedule' }>;
type RunOrder = Extract<BatchJob, { kind: 'run' }>;

const HOUR_MS = 3_600_000;

/** Runs of which it is checked that they can reach their window. */
const RUNS_CHECKED = 5;

/** Makes a schedule of an upload, or changes one. */
export async function prepareSchedule(deps: PrepareDeps, order: ScheduleOrder): Promise<void> {
  const { scheduleId } = order;
  await answerUpload(deps, order.uploadId, (body) =>
    scheduleId === null
      ? createSchedule(deps, order, body)
      : changeSchedule(deps, { ...order, scheduleId }, body),
  );
}

async function createSchedule(deps: PrepareDeps, order: ScheduleOrder, body: string): Promise<Reply> {
  const now = deps.clock.now();
  const { work, ...asked } = readSchedule(body);
  const { fields } = await quoted(work, now);
  // Items nested too deep to be compared later are refused: no run could deliver changes only.
  await hashesOf(work.raws);
  const webhook = await checkedWebhook(deps, order.accountId, asked.webhook, 'batch.webhook');
  // The upload's id, so that an upload which is read twice makes one schedule.
  const { uploadId: scheduleId, accountId } = order;
  const dates = { createdAt: now, updatedAt: now, nextDueAt: null };
  const wanted: Schedule = { scheduleId, accountId, ...asked, ...fields, webhook, ...dates };
  await check(deps, wanted, now);
  const schedule = { ...wanted, nextDueAt: firstDueAt(wanted, now) };
  const view = scheduleView(schedule, now);
  if (order.dryRun) return dryRunReply(view);
  await insertSchedule(deps.database, schedule, work.raws);
  return { status: 201, location: view.links.self, body: okBody(view, 'created') };
}

async function changeSchedule(
  deps: PrepareDeps,
  order: ScheduleOrder & { scheduleId: string },
  body: string,
): Promise<Reply> {
  const { work, ...asked } = readScheduleChange(body);
  const read = work && (await quoted(work, deps.clock.now()));
  const webhook =
    asked.webhook === undefined
      ? undefined
      : await checkedWebhook(deps, order.accountId, asked.webhook, 'batch.webhook');
  const kept = work && (await hashesOf(work.raws));
  // Locked from here on: of two changes at once neither undoes the other, and no tick falls in between.
  const changed = await inTransaction(deps.database, async (client) => {
    const now = deps.clock.now();
    const present = await lockSchedule(client, order.scheduleId, 'wait');
    if (present?.accountId !== order.accountId) throw new SoukError('SCHEDULE_NOT_FOUND');
    const fields = { ...asked, ...read?.fields, ...(webhook === undefined ? {} : { webhook }) };
    const merged: Schedule = { ...present, ...fields, updatedAt: now };
    await check(deps, merged, now);
    const schedule = isRetimed(present, merged) ? { ...merged, nextDueAt: firstDueAt(merged, now) } : merged;
    if (!order.dryRun) {
      await updateSchedule(client, schedule, work?.raws ?? null);
      if (merged.onlyChanges && !present.onlyChanges) await forgetContents(client, order.scheduleId);
      else if (kept) await forgetOthers(client, order.scheduleId, kept);
    }
    return scheduleView(schedule, now);
  });
  if (order.dryRun) return dryRunReply(changed);
  return { status: 200, location: null, body: okBody(changed) };
}

/** Runs a schedule because somebody wants it to. */
export async function runNow(
  deps: PrepareDeps,
  { uploadId, accountId, scheduleId }: RunOrder,
): Promise<void> {
  await answerUpload(deps, uploadId, async (): Promise<Reply> => {
    const run = await runOnDemand(deps, scheduleId, uploadId);
    if (!run) throw new SoukError('SCHEDULE_NOT_FOUND');
    const batch = run.batchId ? await findBatch(deps.database, accountId, run.batchId) : null;
    const view = batch && batchView(batch);
    const location = view ? view.links.self : null;
    return { status: 202, location, body: okBody({ run: runView(run), batch: view }, 'accepted') };
  });
}

function dryRunReply(view: ScheduleView): Reply {
  return { status: 200, location: null, body: okBody({ dryRun: true, ...view }) };
}

/** A change of other things leaves a tick that is due as it is. */
function isRetimed(before: Schedule, after: Schedule): boolean {
  return before.cron !== after.cron || before.timezone !== after.timezone || before.paused !== after.paused;
}

async function hashesOf(raws: readonly unknown[]): Promise<Buffer[]> {
  const hashes: Buffer[] = [];
  for (const raw of raws) {
    hashes.push(itemHash(raw));
    if (hashes.length % ITEMS_A_BREATH === 0) await breathe();
  }
  return hashes;
}

const ITEMS_A_BREATH = 200;

async function quoted({ operation, raws }: ScheduleRequest['work'], now: number) {
  const items = await readItems(operation, raws, breathe, now);
  const calls = await packed(operation, items);
  return { fields: { operation: operation.name, itemCount: items.length, unitsQuoted: unitsOf(calls) } };
}

/** @throws BatchFaults, or SoukError QUOTA_MAX_UNITS. */
async function check({ database, offPeak }: PrepareDeps, schedule: Schedule, now: number): Promise<void> {
  const problem = cronProblem(schedule, now);
  if (problem) throw new BatchFaults([{ parameter: 'cron', problem }]);
  refuseWhenTooDear(schedule.unitsQuoted, schedule.maxUnits);
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
