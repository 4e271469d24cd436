import type { BatchJob, BatchQueue } from '../../jobs/batch-queue.ts';
import type { Reply } from '../../jobs/replies.ts';
import { setScheduler } from '../../jobs/schedulers.ts';
import { findBatch } from '../../src/batches/batch.ts';
import { BatchFaults, readItems } from '../../src/batches/request.ts';
import { batchView } from '../../src/batches/view.ts';
import { offPeakOpening } from '../../src/billing/off-peak.ts';
import { okBody } from '../../src/envelope.ts';
import { SoukError } from '../../src/errors.ts';
import { cronProblem, nextRuns } from '../../src/schedules/cron.ts';
import { readSchedule, readScheduleChange, type ScheduleRequest } from '../../src/schedules/request.ts';
import { findSchedule, firstDueAt, type Schedule, saveSchedule } from '../../src/schedules/schedule.ts';
import { runView, scheduleView } from '../../src/schedules/view.ts';
import {
  answerUpload,
  breathe,
  checkedWebhook,
  type PrepareDeps,
  packed,
  refuseWhenTooDear,
  unitsOf,
} from './prepare.ts';
import { startRun } from './schedule-runs.ts';

type ScheduleOrder = Extract<BatchJob, { kind: 'schedule' }>;
type RunOrder = Extract<BatchJob, { kind: 'run' }>;

const HOUR_MS = 3_600_000;

/** Runs of which it is checked that they can reach their window. */
const RUNS_CHECKED = 5;

/** Makes a schedule of an upload, or changes one. */
export async function prepareSchedule(
  deps: PrepareDeps,
  queue: BatchQueue,
  order: ScheduleOrder,
): Promise<void> {
  const { database, clock } = deps;
  await answerUpload(deps, order.uploadId, async (body) => {
    const now = clock.now();
    const { accountId, scheduleId } = order;
    const present = scheduleId === null ? null : await findSchedule(database, accountId, scheduleId);
    if (scheduleId !== null && !present) throw new SoukError('SCHEDULE_NOT_FOUND');
    const request = present ? readScheduleChange(body) : readSchedule(body);
    const work = request.work && (await quoted(request.work));
    const before = present ?? blank(order, now);
    const asked = fieldsOf(request);
    const webhook =
      asked.webhook === undefined
        ? before.webhook
        : await checkedWebhook(deps, accountId, asked.webhook, 'batch.webhook');
    const merged: Schedule = { ...before, ...asked, ...work?.fields, webhook, updatedAt: now };
    await check(deps, merged, now);
    // A change of other things leaves a tick that is due as it is.
    const isRetimed = ['cron', 'timezone', 'paused'].some((field) => field in request);
    const schedule = isRetimed || !present ? { ...merged, nextDueAt: firstDueAt(merged, now) } : merged;
    const view = scheduleView(schedule, now);
    if (order.dryRun) return { status: 200, location: null, body: okBody({ dryRun: true, ...view }) };
    await saveSchedule(database, schedule, work?.raws ?? null);
    await setScheduler(queue, schedule);
    if (present) return { status: 200, location: null, body: okBody(view) };
    return { status: 201, location: view.links.self, body: okBody(view, 'created') };
  });
}

/** Runs a schedule because somebody wants it to. */
export async function runNow(
  deps: PrepareDeps,
  { uploadId, accountId, scheduleId }: RunOrder,
): Promise<void> {
  const { database, clock } = deps;
  await answerUpload(deps, uploadId, async (): Promise<Reply> => {
    const schedule = await findSchedule(database, accountId, scheduleId);
    if (!schedule) throw new SoukError('SCHEDULE_NOT_FOUND');
    const run = await startRun(deps, schedule, { dueAt: clock.now(), trigger: 'manual' });
    if (!run) throw new SoukError('SCHEDULE_NOT_FOUND');
    const batch = run.batchId ? await findBatch(database, accountId, run.batchId) : null;
    const view = batch && batchView(batch);
    const location = view ? view.links.self : null;
    return { status: 202, location, body: okBody({ run: runView(run), batch: view }, 'accepted') };
  });
}

function blank({ uploadId, accountId }: ScheduleOrder, now: number): Schedule {
  return {
    // The upload's id, so that an upload which is read twice makes one schedule.
    ...{ scheduleId: uploadId, accountId, name: '', cron: '', timezone: 'UTC', paused: false, window: 'any' },
    ...{ onlyChanges: false, webhook: null, maxUnits: null, runHours: 24, operation: '', itemCount: 0 },
    ...{ unitsQuoted: 0, createdAt: now, updatedAt: now, nextDueAt: null },
  };
}

function fieldsOf({ work: _, ...fields }: Partial<ScheduleRequest>): Partial<Schedule> {
  return fields;
}

async function quoted({ operation, raws }: ScheduleRequest['work']) {
  const items = await readItems(operation, raws, breathe);
  const calls = await packed(operation, items);
  const fields = { operation: operation.name, itemCount: items.length, unitsQuoted: unitsOf(calls) };
  return { raws, fields };
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
