import { z } from 'zod';
import { SCHEMA_NAMES } from '../../operations/answers/schema-names.ts';
import { FEED_WINDOWS } from '../request-schemas.ts';
import { countRuns, type Timing } from '../schedules/cron.ts';
import { runSchema, runView, scheduleView } from '../schedules/view.ts';
import { conditionSchema, isAboutKeywords } from './condition.ts';
import { NOTIFY_BY } from './request.ts';
import type { Tracker } from './tracker.ts';

const moment = z.iso.datetime();

/** A tracker as its account sees it. Times are ISO 8601. */
export const trackerSchema = z
  .object({
    trackerId: z.uuid(),
    name: z.string(),
    subject: z.enum(['products', 'keywords']),
    domain: z.int().describe('Site'),
    items: z.int().describe('Number of products or keywords'),
    conditions: z.array(conditionSchema),
    cron: z.string(),
    timezone: z.string(),
    paused: z.boolean(),
    nextRuns: z.array(moment).describe('Times of the next looks; empty while the tracker is paused'),
    window: z.enum(FEED_WINDOWS),
    runHours: z.int(),
    alertAtStart: z.boolean(),
    hysteresisPercent: z.int(),
    quietHours: z.int(),
    notify: z.array(z.enum(NOTIFY_BY)).describe('How alerts are sent'),
    webhook: z.string().nullable(),
    maxUnits: z.int().nullable(),
    operation: z.string().describe('Operation of the calls of a look'),
    units: z.int().describe('Highest price of a look'),
    unitsPerDay: z.number().describe('Highest price of an average day'),
    lastRun: runSchema.nullable().describe('The last look; null before the first one'),
    createdAt: moment,
    updatedAt: moment,
    links: z.object({ self: z.string(), alerts: z.string(), batches: z.string() }),
  })
  .register(SCHEMA_NAMES, { id: 'Tracker' });

export type TrackerView = z.output<typeof trackerSchema>;

export function trackerView(tracker: Tracker, now: number): TrackerView {
  const { onlyChanges: _, scheduleId: trackerId, ...schedule } = scheduleView(tracker, now);
  const { domain, conditions, alertAtStart, hysteresisPercent, quietHours, looksPerDay, lastRun } = tracker;
  const self = `/api/trackers/${trackerId}`;
  return {
    trackerId,
    ...schedule,
    subject: conditions.some(isAboutKeywords) ? 'keywords' : 'products',
    ...{ domain, conditions, alertAtStart, hysteresisPercent, quietHours },
    notify: tracker.notify,
    webhook: tracker.alertWebhook,
    unitsPerDay: Math.ceil(schedule.units * looksPerDay * 100) / 100,
    lastRun: lastRun && runView(lastRun),
    links: { self, alerts: `${self}/alerts`, batches: `/api/batches?scheduleId=${trackerId}` },
  };
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WHOLE_WEEKS_DAYS = 364;

/** Returns how many looks an average day of the next 52 weeks has. Counts each field by itself, which bounds the work. */
export function looksPerDay({ cron }: Pick<Timing, 'cron'>, now: number): number {
  const [minute, hour, ...date] = cron.trim().split(/\s+/);
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  const count = (pattern: string, periodMs: number) =>
    countRuns({ cron: pattern, timezone: 'UTC' }, today, today + periodMs);
  const looks = count(`${minute} * * * *`, HOUR_MS) * count(`0 ${hour} * * *`, DAY_MS);
  return (looks * count(`0 0 ${date.join(' ')}`, WHOLE_WEEKS_DAYS * DAY_MS)) / WHOLE_WEEKS_DAYS;
}
