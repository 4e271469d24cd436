import type { ClientBase } from 'pg';
import type { BatchJob } from '../../jobs/batch-queue.ts';
import { reportsFor } from '../../jobs/mode.ts';
import type { Reply } from '../../jobs/replies.ts';
import { requireKeyFor } from '../../src/accounts/key-standing.ts';
import {
  ACCOUNT_LIMITS,
  countSchedules,
  limitsFor,
  requireScheduleRoom,
} from '../../src/batches/account-limits.ts';
import { deleteContents, deleteContentsOfOtherItems } from '../../src/batches/changes.ts';
import {
  firstDueAt,
  insertSchedule,
  lockSchedule,
  scheduleItems,
  updateSchedule,
} from '../../src/batches/schedules/schedule.ts';
import { isAboutKeywords } from '../../src/batches/trackers/condition.ts';
import { itemName, itemsAgain, itemsOf, type TrackedItems } from '../../src/batches/trackers/items.ts';
import { deleteStatesOfOtherItems } from '../../src/batches/trackers/look.ts';
import { readTracker, readTrackerChange, type TrackedSite } from '../../src/batches/trackers/request.ts';
import {
  findTracker,
  insertTracker,
  lockTrackerForChange,
  type Tracker,
  updateTracker,
} from '../../src/batches/trackers/tracker.ts';
import { looksPerDay, trackerView } from '../../src/batches/trackers/view.ts';
import { queuedOperation } from '../../src/operations/index.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { SoukError } from '../../src/platform/errors.ts';
import { okBody } from '../../src/results/envelope.ts';
import { answerUpload, checkedWebhook, type PrepareDeps } from './prepare.ts';
import { check, dryRunReply, hashesOf, isRetimed, quote } from './prepare-schedule.ts';

type TrackerUpload = Extract<BatchJob, { kind: 'tracker' }>;

/** Creates or changes a tracker from an upload, and replies to the request that sent it. */
export async function prepareTracker(deps: PrepareDeps, upload: TrackerUpload): Promise<void> {
  const { trackerId } = upload;
  await answerUpload(deps, upload.uploadId, (body) =>
    trackerId === null
      ? createTracker(deps, upload, body)
      : changeTracker(deps, { ...upload, trackerId }, body),
  );
}

async function createTracker(deps: PrepareDeps, upload: TrackerUpload, body: string): Promise<Reply> {
  const now = deps.clock.now();
  // The id of the upload, so that an upload that is read twice creates one tracker.
  const { uploadId: scheduleId, accountId, keyId } = upload;
  const { settings, subjects } = await readTracker(body);
  const { domain } = subjects;
  const items = await itemsOf(reportsFor(accountId, deps.reports), subjects, settings.conditions);
  const { fields } = await quote(deps, upload, items);
  const alertWebhook = await checkedWebhook(deps, accountId, settings.webhook, 'webhook');
  const dates = { createdAt: now, updatedAt: now, nextDueAt: null };
  const wanted: Tracker = {
    ...{ scheduleId, accountId, keyId, ...settings, ...fields, domain, ...dates },
    // The batches of a tracker send no messages of their own.
    webhook: null,
    onlyChanges: true,
    alertWebhook,
    looksPerDay: 0,
    lastRun: null,
  };
  await check(deps, wanted, now);
  const tracker = retimed(wanted, now);
  const view = trackerView(tracker, now);
  if (upload.dryRun) return dryRunReply(view);
  await inTransaction(deps.database, async (client) => {
    const schedules = await countSchedules(client, accountId);
    // If this upload was read before, its tracker exists already.
    if (await findTracker(client, accountId, scheduleId)) return;
    requireScheduleRoom(schedules, limitsFor(accountId, deps.accountLimits ?? ACCOUNT_LIMITS));
    await insertSchedule(client, tracker, items.raws);
    await insertTracker(client, tracker);
  });
  return { status: 201, location: view.links.self, body: okBody(view, 'created') };
}

async function changeTracker(
  deps: PrepareDeps,
  upload: TrackerUpload & { trackerId: string },
  body: string,
): Promise<Reply> {
  const { trackerId, accountId } = upload;
  const found = await findTracker(deps.database, accountId, trackerId);
  if (!found) throw new SoukError('TRACKER_NOT_FOUND');
  const { settings, subjects } = await readTrackerChange(body, siteOf(found));
  const { webhook, ...others } = settings;
  const alertWebhook =
    webhook === undefined ? undefined : await checkedWebhook(deps, accountId, webhook, 'webhook');
  // Locked from here on, so that no concurrent change is lost and no look starts in between.
  const view = await inTransaction(deps.database, async (client) => {
    const now = deps.clock.now();
    await lockSchedule(client, trackerId, 'wait');
    await lockTrackerForChange(client, trackerId);
    const present = await findTracker(client, accountId, trackerId);
    if (!present) throw new SoukError('TRACKER_NOT_FOUND');
    const { keyId } = upload;
    await requireKeyFor(client, keyId, queuedOperation(present.operation), now);
    const conditions = settings.conditions ?? present.conditions;
    const items = subjects
      ? await itemsOf(reportsFor(accountId, deps.reports), subjects, conditions)
      : settings.conditions && (await itemsForConditions(client, present, conditions));
    const within = { ...deps, database: client };
    const merged: Tracker = {
      ...present,
      ...others,
      ...(items ? (await quote(within, upload, items)).fields : {}),
      ...(subjects ? { domain: subjects.domain } : {}),
      ...(alertWebhook === undefined ? {} : { alertWebhook }),
      keyId,
      updatedAt: now,
    };
    await check(within, merged, now);
    const tracker = isRetimed(present, merged) ? retimed(merged, now) : merged;
    if (!upload.dryRun) await store(client, present, tracker, items ?? null);
    return trackerView(tracker, now);
  });
  return upload.dryRun ? dryRunReply(view) : { status: 200, location: null, body: okBody(view) };
}

/** Stores a changed tracker. The next look compares every item with changed conditions, also if its content is the same. */
async function store(
  client: ClientBase,
  before: Tracker,
  tracker: Tracker,
  items: TrackedItems | null,
): Promise<void> {
  const { scheduleId: trackerId } = tracker;
  await updateSchedule(client, tracker, items?.raws ?? null);
  await updateTracker(client, tracker);
  if (!items) return;
  if (tracker.conditions === before.conditions)
    await deleteContentsOfOtherItems(client, trackerId, await hashesOf(items.raws));
  else await deleteContents(client, trackerId);
  const kept = tracker.domain === before.domain ? items.raws.map(itemName) : [];
  await deleteStatesOfOtherItems(client, trackerId, kept);
}

async function itemsForConditions(
  client: ClientBase,
  { scheduleId, operation: name }: Tracker,
  conditions: Tracker['conditions'],
): Promise<TrackedItems> {
  const operation = queuedOperation(name);
  if (!operation) throw new Error(`unknown operation ${name}`);
  return itemsAgain({ operation, raws: await scheduleItems(client, scheduleId) }, conditions);
}

function retimed(tracker: Tracker, now: number): Tracker {
  return { ...tracker, nextDueAt: firstDueAt(tracker, now), looksPerDay: looksPerDay(tracker, now) };
}

function siteOf({ domain, conditions }: Tracker): TrackedSite {
  return { kind: conditions.some(isAboutKeywords) ? 'keywords' : 'products', domain };
}
