import type { ClientBase } from 'pg';
import { v7 as uuid } from 'uuid';
import { reportsFor } from '../../../jobs/payload.ts';
import { requireKeyFor } from '../../accounts/account-keys.ts';
import { queuedOperation } from '../../operations/index.ts';
import type { Queryable } from '../../platform/db/pool.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { SoukError } from '../../platform/errors.ts';
import type { SecretBox } from '../../platform/secret-box.ts';
import { checkedWebhook, countSchedules, limitsFor, requireScheduleRoom } from '../limits.ts';
import { deleteContents, deleteContentsOfOtherItems } from '../results.ts';
import {
  check,
  hashesOf,
  isRetimed,
  quote,
  type SaveDeps,
  type SaveRequest,
} from '../schedules/save-schedule.ts';
import {
  firstDueAt,
  insertSchedule,
  lockSchedule,
  scheduleItems,
  updateSchedule,
  versionOf,
} from '../schedules/schedule.ts';
import { sealedChat } from './chat.ts';
import { deleteStatesOfOtherItems } from './check.ts';
import { inputsOf, itemName, itemsAgain, itemsOf, type TrackedItems } from './items.ts';
import { readTracker, readTrackerChange, type TrackedSite } from './read-tracker.ts';
import { forgetScreen } from './screen-runs.ts';
import {
  findTracker,
  insertTracker,
  kindOf,
  lockTrackerForChange,
  looksPerDay,
  type Tracker,
  type TrackerView,
  trackerView,
  updateTracker,
} from './tracker.ts';

export interface SaveTrackerDeps extends SaveDeps {
  /** Seals the addresses of chats. */
  secretBox: SecretBox;
}

/** Creates a tracker. @throws SoukError. */
export async function createTracker(
  deps: SaveTrackerDeps,
  { accountId, keyId, body, dryRun }: SaveRequest,
): Promise<TrackerView> {
  const now = deps.clock.now();
  const { settings, subjects } = await readTracker(body);
  const items = await itemsOf(reportsFor(accountId, deps.reports), subjects, settings.conditions);
  await requireKeyFor(deps.database, keyId, items.operation, now);
  const trackerId = uuid();
  const wanted: Tracker = {
    ...settings,
    ...(await quoteItems(items)),
    scheduleId: trackerId,
    accountId,
    keyId,
    domain: subjects.domain,
    // The batches of a tracker send no messages of their own.
    webhook: null,
    onlyChanges: true,
    mailResults: false,
    alertWebhook: await checkedWebhook(deps, accountId, settings.webhook, 'webhook'),
    chat: sealedChat(settings.chat, { trackerId, secretBox: deps.secretBox, ...deps.webhooks }),
    lastChat: null,
    screen: subjects.kind === 'screen' ? subjects.screen : null,
    lastScreen: null,
    looksPerDay: 0,
    lastRun: null,
    createdAt: now,
    updatedAt: now,
    nextDueAt: null,
  };
  await check(deps, wanted, now);
  const tracker = retimed(wanted, now);
  const view = trackerView(tracker, now);
  if (dryRun) return view;
  await inTransaction(deps.database, async (client) => {
    const schedules = await countSchedules(client, accountId);
    requireScheduleRoom(schedules, limitsFor(accountId, deps.accountLimits));
    await insertSchedule(client, tracker, items.raws);
    await insertTracker(client, tracker);
  });
  return view;
}

/** How often a change is computed again because another one came in between. */
const MOST_ATTEMPTS = 5;

/** Changes the given fields of a tracker. @throws SoukError. */
export async function changeTracker(
  deps: SaveTrackerDeps,
  trackerId: string,
  request: SaveRequest,
): Promise<TrackerView> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const changed = await tryChange(deps, trackerId, request);
    if (changed) return changed;
  }
  throw new SoukError('BUSY', {
    message: 'This tracker is changed too often at the moment; retry later.',
    retryAfterSeconds: 1,
  });
}

/** @returns null if the tracker has been changed since it was read. */
async function tryChange(
  deps: SaveTrackerDeps,
  trackerId: string,
  { accountId, keyId, body, dryRun }: SaveRequest,
): Promise<TrackerView | null> {
  const version = await versionOf(deps.database, trackerId);
  const found = await findTracker(deps.database, accountId, trackerId);
  if (!found) throw new SoukError('TRACKER_NOT_FOUND');
  const { settings, subjects } = await readTrackerChange(body, siteOf(found));
  const { webhook, chat, ...others } = settings;
  const sealing = { trackerId, secretBox: deps.secretBox, ...deps.webhooks };
  const sealed = chat === undefined ? undefined : sealedChat(chat, sealing);
  const alertWebhook =
    webhook === undefined ? undefined : await checkedWebhook(deps, accountId, webhook, 'webhook');
  await requireKeyFor(deps.database, keyId, queuedOperation(found.operation), deps.clock.now());
  // What takes long is done before the transaction, which holds a connection and the lock.
  const conditions = settings.conditions ?? found.conditions;
  const items = subjects
    ? await itemsOf(reportsFor(accountId, deps.reports), subjects, conditions)
    : settings.conditions && (await itemsForConditions(deps.database, found, conditions));
  const quoted = items && (await quoteItems(items));
  const kept = items && conditions === found.conditions ? await hashesOf(items.raws) : null;
  // Locked from here on, so that no concurrent change is lost and no check starts in between.
  return inTransaction(deps.database, async (client) => {
    const now = deps.clock.now();
    await lockSchedule(client, trackerId, 'wait');
    await lockTrackerForChange(client, trackerId);
    if ((await versionOf(client, trackerId)) !== version) return null;
    await requireKeyFor(client, keyId, queuedOperation(found.operation), now);
    const merged: Tracker = {
      ...found,
      ...others,
      ...quoted,
      ...(subjects && { domain: subjects.domain }),
      ...(subjects?.kind === 'screen' && { screen: subjects.screen, lastScreen: null }),
      ...(sealed !== undefined && { chat: sealed }),
      ...(alertWebhook !== undefined && { alertWebhook }),
      keyId,
      updatedAt: now,
    };
    await check({ ...deps, database: client }, merged, now);
    const tracker = isRetimed(found, merged) ? retimed(merged, now) : merged;
    if (!dryRun) await store(client, found, tracker, items ? { ...items, kept } : null);
    return trackerView(tracker, now);
  });
}

/**
 * Stores a changed tracker. The next check compares every item with changed conditions, even if its content is the same.
 * @param items with the hashes of those whose contents are kept; null: no contents are kept.
 */
async function store(
  client: ClientBase,
  before: Tracker,
  tracker: Tracker,
  items: (TrackedItems & { kept: readonly Buffer[] | null }) | null,
): Promise<void> {
  const { scheduleId: trackerId } = tracker;
  await updateSchedule(client, tracker, items?.raws ?? null);
  await updateTracker(client, tracker);
  if (!items) return;
  // A changed screen begins again with the newest week.
  if (tracker.screen) await forgetScreen(client, trackerId);
  if (items.kept) await deleteContentsOfOtherItems(client, trackerId, items.kept);
  else await deleteContents(client, trackerId);
  const isSame = tracker.domain === before.domain && !tracker.screen;
  const kept = isSame ? items.raws.map(itemName) : [];
  await deleteStatesOfOtherItems(client, trackerId, kept);
}

async function itemsForConditions(
  client: Queryable,
  { scheduleId, operation: name }: Tracker,
  conditions: Tracker['conditions'],
): Promise<TrackedItems> {
  const operation = queuedOperation(name);
  if (!operation) throw new Error(`unknown operation ${name}`);
  return itemsAgain({ operation, raws: await scheduleItems(client, scheduleId) }, conditions);
}

function quoteItems({ operation, raws }: TrackedItems) {
  return quote(operation, inputsOf({ operation, raws }));
}

function retimed(tracker: Tracker, now: number): Tracker {
  return { ...tracker, nextDueAt: firstDueAt(tracker, now), looksPerDay: looksPerDay(tracker, now) };
}

function siteOf(tracker: Tracker): TrackedSite {
  return { kind: kindOf(tracker), domain: tracker.domain };
}
