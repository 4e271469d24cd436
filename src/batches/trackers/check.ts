import type { ClientBase } from 'pg';
import { enqueueAll } from '../../outbox/webhooks/deliveries.ts';
import { hasWebhookRoom, type WebhookLimits } from '../../outbox/webhooks/webhook-limits.ts';
import { HOUR_MS } from '../../platform/durations.ts';
import type { ItemResult } from '../results.ts';
import { type Alert, alertView, insertAlerts } from './alert.ts';
import { conditionKey } from './condition.ts';
import { isAnswered, itemName } from './items.ts';
import { imageOf, type Reading, readingOf, titleOf } from './reading.ts';
import type { Tracker } from './tracker.ts';

/** The states of the conditions of one item, by the key of the condition. */
type States = Record<string, KeptState>;

/** The state of a condition with the last changes of its value. */
export interface KeptState extends ConditionState {
  /** Unix milliseconds and the value from then on, oldest first; absent for a value of text. */
  changes?: readonly Change[];
}

type Change = readonly [at: number, value: number | null];

/** Older changes of a value are dropped. */
const MOST_CHANGES = 30;

const ALERTS_PER_EVENT = 100;

/**
 * Locks the tracker to which a schedule belongs, so that its conditions stay the same until the caller's transaction ends.
 * @returns null if the schedule belongs to no tracker, or was deleted.
 */
export async function lockTracker(client: ClientBase, scheduleId: string): Promise<LockedTracker | null> {
  const { rows } = await client.query<LockedTracker>(
    // The schedule is locked first, as when it is deleted, so that the two transactions cannot deadlock.
    `select t.id as "scheduleId", s.account_id as "accountId", s.name, t.domain, t.conditions,
       t.alert_at_start as "alertAtStart", t.hysteresis_percent as "hysteresisPercent", t.quiet_hours as "quietHours", t.screen,
         case when 'webhook' = any (t.notify) then t.alert_webhook end as "alertWebhook"
     from schedules s join trackers t on t.id = s.id where s.id = $1 for key share of s for share of t`,
    [scheduleId],
  );
  return rows[0] ?? null;
}

/**
 * Compares results with the conditions of a locked tracker, and stores states, alerts and webhook events. It runs in the
 * transaction that collects the call, so a result is compared once.
 * @param results the changed results of a call of the batch.
 */
export async function compareWithConditions(
  client: ClientBase,
  tracker: LockedTracker,
  { batchId, results }: { batchId: string; results: readonly ItemResult[] },
  limits: WebhookLimits,
  now: number,
): Promise<void> {
  if (results.length === 0) return;
  const { scheduleId: trackerId } = tracker;
  const known = await knownStates(
    client,
    trackerId,
    results.map(({ raw }) => itemName(raw)),
  );
  const alerts: Omit<Alert, 'alertId'>[] = [];
  const next: Checked[] = [];
  for (const { raw, data } of results) {
    const item = itemName(raw);
    const { states, crossings } = compareItem(tracker, known.get(item) ?? {}, { raw, data }, now);
    const title = titleOf(data);
    next.push({ item, states, title, image: imageOf(data) });
    const about = { trackerId, batchId, item, title, createdAt: now };
    for (const crossing of crossings) alerts.push({ ...about, ...crossing });
  }
  await storeStates(client, trackerId, next);
  await announce(client, tracker, await insertAlerts(client, alerts), limits, now);
}

type Rules = Pick<Tracker, 'domain' | 'conditions' | 'alertAtStart' | 'hysteresisPercent' | 'quietHours'>;
export type LockedTracker = Rules &
  Pick<Tracker, 'scheduleId' | 'accountId' | 'name' | 'alertWebhook' | 'screen'>;

/** Compares the result of one item with the conditions. States of conditions that the tracker no longer has are left out. */
function compareItem(
  { domain, conditions, alertAtStart, hysteresisPercent, quietHours }: Rules,
  known: States,
  { raw, data }: Pick<ItemResult, 'raw' | 'data'>,
  now: number,
): { states: States; crossings: Pick<Alert, 'condition' | 'before' | 'after' | 'threshold'>[] } {
  const states: States = {};
  const crossings = [];
  const rules = { alertAtStart, quietMs: quietHours * HOUR_MS };
  for (const condition of conditions) {
    const key = conditionKey(condition);
    const isKnown = isAnswered(raw, domain, condition);
    const reading = isKnown ? readingOf(condition, data, hysteresisPercent) : null;
    const { state, crossing } = decide(known[key] ?? null, reading, rules, now);
    if (state) states[key] = { ...state, ...changesOf(known[key]?.changes, state.value, now) };
    if (crossing) crossings.push({ condition, ...crossing });
  }
  return { states, crossings };
}

/** Returns the changes of a value with its present one. */
function changesOf(
  known: readonly Change[] = [],
  value: ConditionState['value'],
  now: number,
): Pick<KeptState, 'changes'> {
  if (typeof value === 'string') return {};
  const isSame = known.length > 0 && known.at(-1)?.[1] === value;
  return { changes: isSame ? known : [...known, [now, value] as const].slice(-MOST_CHANGES) };
}

async function knownStates(
  client: ClientBase,
  trackerId: string,
  items: readonly string[],
): Promise<Map<string, States>> {
  const { rows } = await client.query<{ item: string; states: States }>(
    'select item, states from tracker_states where tracker_id = $1 and item = any($2::text[]) for update',
    [trackerId, items],
  );
  return new Map(rows.map(({ item, states }) => [item, states]));
}

/** What a check has found about an item. */
interface Checked {
  item: string;
  states: States;
  title: string | null;
  image: string | null;
}

async function storeStates(client: ClientBase, trackerId: string, checked: readonly Checked[]) {
  await client.query(
    `insert into tracker_states (tracker_id, item, states, title, image)
     select $1, * from unnest($2::text[], $3::jsonb[], $4::text[], $5::text[])
     on conflict (tracker_id, item) do update set states = excluded.states,
       title = coalesce(excluded.title, tracker_states.title), image = coalesce(excluded.image, tracker_states.image)`,
    [
      trackerId,
      checked.map(({ item }) => item),
      checked.map(({ states }) => JSON.stringify(states)),
      checked.map(({ title }) => title),
      checked.map(({ image }) => image),
    ],
  );
}

/**
 * Creates the webhook events of alerts. The id of an event is that of its first alert. An account with too many
 * undelivered webhooks gets no event; its alerts are in the list.
 */
export async function announce(
  client: ClientBase,
  { scheduleId: trackerId, accountId, name, alertWebhook: url }: LockedTracker,
  alerts: readonly Alert[],
  limits: WebhookLimits,
  now: number,
): Promise<void> {
  if (url === null || alerts.length === 0) return;
  if (!(await hasWebhookRoom(client, { accountId, url }, limits))) return;
  const parts = Array.from({ length: Math.ceil(alerts.length / ALERTS_PER_EVENT) }, (_, i) =>
    alerts.slice(i * ALERTS_PER_EVENT, (i + 1) * ALERTS_PER_EVENT),
  );
  const events = parts.map((part) => ({
    id: part[0]?.alertId as string,
    accountId,
    url,
    type: 'tracker.alert',
    data: { trackerId, name, alerts: part.map(alertView) },
  }));
  await enqueueAll(client, events, now);
}

/** Deletes the states of items that a tracker no longer has. @param kept its present items. */
export async function deleteStatesOfOtherItems(
  client: ClientBase,
  trackerId: string,
  kept: readonly string[],
): Promise<void> {
  await client.query(
    `delete from tracker_states where tracker_id = $1
       and not exists (select from unnest($2::text[]) as k (item) where k.item = tracker_states.item)`,
    [trackerId, kept],
  );
}

/** What a tracker knows about a condition of one product or keyword. */
export interface ConditionState {
  /** Stays true until the condition is clearly false. */
  isMet: boolean;
  /** The last known value. */
  value: number | string | null;
  /** When the last alert was made, Unix milliseconds. */
  alertedAt: number | null;
}

interface AlertRules {
  /** Whether a condition that is true at the first check raises an alert. */
  alertAtStart: boolean;
  /** An alert follows the last one of the same product and condition after this time at the earliest. */
  quietMs: number;
}

/** The values of a crossing. */
export interface Crossing {
  before: number | string | null;
  after: number | string | null;
  threshold: number | null;
}

/**
 * Compares a reading with the state before, and decides whether there is an alert: when the condition was false and is
 * true now.
 * @param state null before the first check.
 * @param reading null if the data is missing: then the state stays.
 * @param now Unix milliseconds.
 */
export function decide(
  state: ConditionState | null,
  reading: Reading | null,
  { alertAtStart, quietMs }: AlertRules,
  now: number,
): { state: ConditionState | null; crossing: Crossing | null } {
  if (reading === null) return { state, crossing: null };
  const wasMet = state?.isMet ?? false;
  const becomesTrue =
    reading.kind === 'identity'
      ? state !== null && state.value !== reading.value
      : reading.isMet && !wasMet && (state !== null || alertAtStart);
  const isMet = reading.kind === 'compared' && (reading.isMet || (wasMet && !reading.isClear));
  const last = state?.alertedAt ?? null;
  const isQuiet = last !== null && now - last < quietMs;
  const isAlert = becomesTrue && !isQuiet;
  const next = { isMet, value: reading.value, alertedAt: isAlert ? now : last };
  if (!isAlert) return { state: next, crossing: null };
  const threshold = reading.kind === 'compared' ? reading.threshold : null;
  return { state: next, crossing: { before: state?.value ?? null, after: reading.value, threshold } };
}
