import { v7 as uuid } from 'uuid';
import type { Reports } from '../../../jobs/payload.ts';
import { requireKeyFor } from '../../accounts/account-keys.ts';
import { checkMaxUnits } from '../../billing/admission.ts';
import { type OffPeakWindow, offPeakOpening } from '../../billing/wallets.ts';
import type { QueuedOperation } from '../../operations/define.ts';
import { queuedOperation } from '../../operations/index.ts';
import type { ServiceClock } from '../../platform/clock.ts';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { HOUR_MS } from '../../platform/durations.ts';
import { SoukError } from '../../platform/errors.ts';
import { bundleAll, type Item } from '../bundle.ts';
import {
  type AccountLimits,
  checkedWebhook,
  countSchedules,
  limitsFor,
  requireScheduleRoom,
  type WebhookSettings,
} from '../limits.ts';
import { gatewayPauses } from '../pauses.ts';
import { readItems } from '../read-batch.ts';
import { deleteContents, deleteContentsOfOtherItems, itemHash } from '../results.ts';
import { BatchFaults } from '../upload-text.ts';
import { cronProblem, nextRuns } from './cron.ts';
import {
  DOCUMENT_ITEM_LIMITS,
  readSchedule,
  readScheduleChange,
  type ScheduleRequest,
} from './read-schedule.ts';
import {
  firstDueAt,
  hasTimes,
  insertSchedule,
  lockSchedule,
  type Schedule,
  type ScheduleView,
  scheduleView,
  updateSchedule,
} from './schedule.ts';

export interface SaveDeps {
  database: Database;
  reports: Reports;
  offPeak: OffPeakWindow;
  webhooks: WebhookSettings;
  accountLimits: AccountLimits;
  clock: ServiceClock;
}

/** A request to save a schedule or a tracker. */
export interface SaveRequest {
  accountId: number;
  /** The key of the request; null: a key of the pages. */
  keyId: number | null;
  body: string;
  /** Checks the request and returns what it would save. */
  dryRun: boolean;
}

/** How many runs are checked for an overlap with the off-peak window. */
const RUNS_CHECKED = 5;

/** Creates a schedule. @throws SoukError. */
export async function createSchedule(
  deps: SaveDeps,
  { accountId, keyId, body, dryRun }: SaveRequest,
): Promise<ScheduleView> {
  const now = deps.clock.now();
  const { batch, ...settings } = await readSchedule(body);
  const quoted = await quoteItems(deps, keyId, batch);
  const webhook = await checkedWebhook(deps, accountId, settings.webhook, 'batch.webhook');
  const wanted: Schedule = {
    ...settings,
    ...quoted,
    scheduleId: uuid(),
    accountId,
    keyId,
    webhook,
    createdAt: now,
    updatedAt: now,
    nextDueAt: null,
  };
  await check(deps, wanted, now);
  const schedule = { ...wanted, nextDueAt: firstDueAt(wanted, now) };
  const view = scheduleView(schedule, now);
  if (dryRun) return view;
  await inTransaction(deps.database, async (client) => {
    const schedules = await countSchedules(client, accountId);
    requireScheduleRoom(schedules, limitsFor(accountId, deps.accountLimits));
    await insertSchedule(client, schedule, batch.raws);
  });
  return view;
}

/** Changes the given fields of a schedule. @throws SoukError. */
export async function changeSchedule(
  deps: SaveDeps,
  scheduleId: string,
  { accountId, keyId, body, dryRun }: SaveRequest,
): Promise<ScheduleView> {
  const { batch, ...settings } = await readScheduleChange(body);
  const quoted = batch && (await quoteItems(deps, keyId, batch));
  const webhook =
    settings.webhook === undefined
      ? undefined
      : await checkedWebhook(deps, accountId, settings.webhook, batch ? 'batch.webhook' : 'webhook');
  const kept = batch && (await hashesOf(batch.raws));
  // Locked from here on, so that no concurrent change is lost and no run starts in between.
  return inTransaction(deps.database, async (client) => {
    const now = deps.clock.now();
    const present = await lockSchedule(client, scheduleId, 'wait');
    if (present?.accountId !== accountId) throw new SoukError('SCHEDULE_NOT_FOUND');
    await requireKeyFor(client, keyId, queuedOperation(present.operation), now);
    const fields = { ...settings, ...quoted, ...(webhook === undefined ? {} : { webhook }) };
    const merged: Schedule = { ...present, ...fields, keyId, updatedAt: now };
    await check({ ...deps, database: client }, merged, now);
    const schedule = isRetimed(present, merged) ? { ...merged, nextDueAt: firstDueAt(merged, now) } : merged;
    if (!dryRun) {
      await updateSchedule(client, schedule, batch?.raws ?? null);
      if (merged.onlyChanges && !present.onlyChanges) await deleteContents(client, scheduleId);
      else if (kept) await deleteContentsOfOtherItems(client, scheduleId, kept);
    }
    return scheduleView(schedule, now);
  });
}

/** Only changes of these fields move the next run. */
export function isRetimed(before: Schedule, after: Schedule): boolean {
  return before.cron !== after.cron || before.timezone !== after.timezone || before.paused !== after.paused;
}

/** Returns the hashes of items. */
export async function hashesOf(raws: readonly unknown[]): Promise<Buffer[]> {
  const pause = gatewayPauses();
  const hashes: Buffer[] = [];
  for (const raw of raws) {
    hashes.push(itemHash(raw));
    await pause();
  }
  return hashes;
}

/** @throws BatchFaults, or SoukError KEY_FORBIDDEN or KEY_SCOPE_MISSING. */
async function quoteItems(
  { database, clock }: SaveDeps,
  keyId: number | null,
  { operation, raws }: ScheduleRequest['batch'],
) {
  const now = clock.now();
  await requireKeyFor(database, keyId, operation, now);
  return quote(operation, await readItems(operation, raws, gatewayPauses(), now, DOCUMENT_ITEM_LIMITS));
}

/** Returns what a schedule says about its items. */
export async function quote(operation: QueuedOperation, items: readonly Item[]) {
  const { units } = await bundleAll(operation, items, gatewayPauses());
  return { operation: operation.name, itemCount: items.length, unitsQuoted: units };
}

/** @throws BatchFaults, or SoukError QUOTA_MAX_UNITS. */
export async function check(
  { database, offPeak }: { database: Queryable; offPeak: OffPeakWindow },
  schedule: Schedule,
  now: number,
): Promise<void> {
  const problem = hasTimes(schedule) ? cronProblem(schedule, now) : null;
  if (problem) throw new BatchFaults([{ parameter: 'cron', problem }]);
  checkMaxUnits('The batch can cost up to', schedule.unitsQuoted, schedule.maxUnits);
  if (schedule.window !== 'off_peak' || !hasTimes(schedule)) return;
  for (const runAt of nextRuns(schedule, now, RUNS_CHECKED)) {
    const { isOpen, opensAt } = await offPeakOpening(database, offPeak, runAt);
    const endsAt = runAt + schedule.runHours * HOUR_MS;
    if (isOpen || opensAt < endsAt) continue;
    const at = (unixMs: number) => new Date(unixMs).toISOString();
    const contradiction = `contradicts cron and runHours: the run of ${at(runAt)} ends at ${at(endsAt)}, before the off-peak window opens at ${at(opensAt)}`;
    throw new BatchFaults([{ parameter: 'window', problem: contradiction }]);
  }
}
