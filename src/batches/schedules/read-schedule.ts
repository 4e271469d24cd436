import { z } from 'zod';
import type { QueuedOperation } from '../../operations/define.ts';
import { didYouMean } from '../../operations/faults.ts';
import { exactObject } from '../../operations/params/request.ts';
import { boolean, integer, oneOf, shownValue, text } from '../../operations/params/scalars.ts';
import { isTimeZone } from '../../platform/time-zone.ts';
import { FEED_WINDOWS, type FeedWindow, type ITEM_LIMITS, ITEM_SOURCES, itemsOf } from '../read-batch.ts';
import { BatchFaults, parseBody } from '../upload-text.ts';
import type { Timing } from './cron.ts';
import type { Schedule } from './schedule.ts';

/** A request to create or change a schedule. Fields that are absent from a change stay as they are. */
export type ScheduleRequest = Timing &
  Pick<
    Schedule,
    'name' | 'paused' | 'window' | 'onlyChanges' | 'mailResults' | 'runHours' | 'webhook' | 'maxUnits'
  > & {
    /** The operation and the items of the batch that each run creates. */
    batch: { operation: QueuedOperation; raws: readonly unknown[] };
  };

/** Maximum size of the body of a schedule or a tracker, which a gateway parses. */
export const DOCUMENT_LIMIT_BYTES = 1_048_576;

/** Limits on the items of such a body, so that checking them takes time in proportion to its size. */
export const DOCUMENT_ITEM_LIMITS: typeof ITEM_LIMITS = { bytes: 8 * DOCUMENT_LIMIT_BYTES, faults: 10_000 };

/** Newer versions of Node also accept offsets such as +02:00 as time zones. */
const isZoneName = (name: string) => /^[a-z]/i.test(name) && isTimeZone(name);

/** Returns the zone that a wrong name may mean: that of the city it names, or the nearest one. */
function nearZone(name: string): string {
  const zones = Intl.supportedValuesOf('timeZone');
  const city = `/${name.trim().replaceAll(' ', '_').toLowerCase()}`;
  const found = zones.find((zone) => zone.toLowerCase().endsWith(city));
  return found ? `; did you mean ${found}?` : didYouMean(name, zones);
}

const LONGEST_RUN_HOURS = 30 * 24;
export const DEFAULT_RUN_HOURS = 24;

/** The fields that schedules and trackers have in common, and those of schedules only. */
export const SCHEDULE_FIELDS = {
  name: text({ maxLength: 200 }).describe('Name of the schedule, visible to its account only'),
  cron: text({ maxLength: 200 }).meta({
    description: 'Times of the runs: minute, hour, day of the month, month, day of the week',
    examples: ['0 6 * * 1'],
  }),
  timezone: z
    .string('must be an IANA time zone such as Europe/Berlin')
    .refine(isZoneName, {
      error: ({ input }) =>
        `${shownValue(input)} is not a known time zone${nearZone(input as string) || '; use a name such as Europe/Berlin'}`,
    })
    .meta({
      description: 'IANA time zone of cron',
      pattern: '^[A-Za-z0-9_+/-]+$',
      maxLength: 64,
      examples: ['Europe/Berlin'],
    }),
  paused: boolean().describe('While true, the schedule has no runs'),
  window: oneOf(FEED_WINDOWS).describe('off_peak: submit calls in the off-peak window only'),
  onlyChanges: boolean().describe(
    'Results contain only items whose content has changed since the previous run',
  ),
  runHours: integer({ min: 1, max: LONGEST_RUN_HOURS }).describe(
    'Hours that each run may take; items that take longer fail',
  ),
};

const mailResults = boolean().describe(
  'Mails a link to the results to the owners, admins and developers of the account when a run ends',
);

const webhook = text({ maxLength: 2_000 })
  .nullable()
  .describe('Address that receives a message when a run finishes');
const maxUnits = integer({ min: 0 }).nullable().describe('Refuse a run if it can cost more than this');

const batchShape = exactObject({
  ...ITEM_SOURCES,
  window: oneOf(FEED_WINDOWS).optional(),
  webhook: webhook.default(null),
  maxUnits: maxUnits.default(null),
});

const BATCH_TEXT = 'The operation and the items of each run';

export const newScheduleSchema = exactObject({
  ...SCHEDULE_FIELDS,
  timezone: SCHEDULE_FIELDS.timezone.default('UTC'),
  paused: SCHEDULE_FIELDS.paused.default(false),
  window: SCHEDULE_FIELDS.window.optional(),
  onlyChanges: SCHEDULE_FIELDS.onlyChanges.default(false),
  mailResults: mailResults.default(false),
  runHours: SCHEDULE_FIELDS.runHours.default(DEFAULT_RUN_HOURS),
  batch: batchShape.describe(BATCH_TEXT),
});

export const scheduleChangeSchema = exactObject({
  ...SCHEDULE_FIELDS,
  mailResults,
  webhook,
  maxUnits,
  batch: batchShape.describe(BATCH_TEXT),
})
  .partial()
  .refine((change) => Object.keys(change).length > 0, 'must contain at least one field to change');

/** @throws BatchFaults */
export async function readSchedule(body: string): Promise<ScheduleRequest> {
  const { batch, window, ...request } = await parseBody(newScheduleSchema, body);
  return { ...request, window: windowOf(window, batch.window) ?? 'any', ...partsOf(batch) };
}

/** @throws BatchFaults */
export async function readScheduleChange(body: string): Promise<Partial<ScheduleRequest>> {
  const { batch, window, ...change } = await parseBody(scheduleChangeSchema, body);
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const both = (['webhook', 'maxUnits'] as const).filter((name) => batch && change[name] !== undefined);
  if (both.length > 0)
    throw new BatchFaults(
      both.map((parameter) => ({ parameter, problem: `must be sent in batch: batch.${parameter}` })),
    );
  const newWindow = windowOf(window, batch?.window);
  return { ...given, ...(newWindow ? { window: newWindow } : {}), ...(batch ? partsOf(batch) : {}) };
}

function partsOf(batch: z.output<typeof batchShape>) {
  const { webhook, maxUnits } = batch;
  return { webhook, maxUnits, batch: itemsOf(batch, 'batch.', DOCUMENT_ITEM_LIMITS) };
}

function windowOf(ofSchedule: FeedWindow | undefined, ofBatch: FeedWindow | undefined) {
  if (ofSchedule && ofBatch && ofSchedule !== ofBatch) {
    const problem = `is ${ofSchedule}, but batch.window is ${ofBatch}: send the same value or only one of them`;
    throw new BatchFaults([{ parameter: 'window', problem }]);
  }
  return ofSchedule ?? ofBatch;
}
