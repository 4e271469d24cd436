import { z } from 'zod';
import { normaliseTerm, REPORT_SITES } from '../../operations/brand-analytics/keywords.ts';
import { faultsIn } from '../../operations/faults.ts';
import { type Domain, reportSite, SITES } from '../../operations/params/domain.ts';
import { ASIN_SCHEMA, parseAsin } from '../../operations/params/lists.ts';
import { exactObject, Fault } from '../../operations/params/request.ts';
import { boolean, integer, listProblem, oneOf, oneOfNumbers, text } from '../../operations/params/scalars.ts';
import { type ScreenInput, screen as screenOperation } from '../../operations/research/screen.ts';
import { DEFAULT_RUN_HOURS, SCHEDULE_FIELDS } from '../schedules/read-schedule.ts';
import { BatchFaults, parseBody } from '../upload-text.ts';
import {
  type Condition,
  conditionKey,
  isAboutKeywords,
  MOST_CONDITIONS,
  newConditionSchema,
} from './condition.ts';

const MOST_TRACKED = 10_000;

/** The parameters of a screen that is saved. */
export type SavedScreen = Omit<ScreenInput, 'week' | 'cursor'>;

/** The products or the keywords of a tracker, or its screen, all of one site. */
export type Subjects =
  | { kind: 'products'; domain: number; asins: readonly string[] }
  /** Normalised search terms. */
  | { kind: 'keywords'; domain: number; terms: readonly string[] }
  | { kind: 'screen'; domain: number; screen: SavedScreen };

/** What a tracker tracks, and on which site. */
export type TrackedSite = Pick<Subjects, 'kind' | 'domain'>;

const DOMAINS = Object.keys(SITES).map(Number) as [Domain, ...Domain[]];

const { name, cron, timezone, paused, window, runHours } = SCHEDULE_FIELDS;

export const NOTIFY_BY = ['webhook', 'email', 'chat'] as const;

export type NotifyBy = (typeof NOTIFY_BY)[number];

const NOTIFY_PROBLEM = `must be a list of ${NOTIFY_BY.join(', ')}`;

const fields = {
  name: name.describe('Name of the tracker, visible to its account only'),
  cron: cron
    .meta({
      description:
        'Times of the checks: minute, hour, day of the month, month, day of the week; not with screen, which runs when a week is imported',
    })
    .optional(),
  timezone,
  paused: paused.describe('While true, the tracker has no checks'),
  window,
  runHours: runHours.describe('Hours that each check may take; items that take longer keep their state'),
  conditions: z
    .array(newConditionSchema, listProblem(`must be a list of 1 to ${MOST_CONDITIONS} conditions`))
    .min(1, `must be a list of 1 to ${MOST_CONDITIONS} conditions, got 0 items`)
    .max(MOST_CONDITIONS, listProblem(`must be a list of 1 to ${MOST_CONDITIONS} conditions`))
    .refine((conditions) => new Set(conditions.map(conditionKey)).size === conditions.length, {
      error: 'must not contain the same condition twice',
    })
    .describe(
      'Statements about each product or keyword; an alert is made when one becomes true; not with screen',
    )
    .optional(),
  alertAtStart: boolean().describe('Also alert if a condition is true at the first check'),
  hysteresisPercent: integer({ min: 0, max: 50 }).describe(
    'After an alert, the value must be on the other side of the bound by this percentage before it can cross the bound again',
  ),
  quietHours: integer({ min: 0, max: 720 }).describe(
    'Hours after an alert in which the same condition of the same product or keyword makes no other',
  ),
  notify: z
    .array(oneOf(NOTIFY_BY), listProblem(NOTIFY_PROBLEM))
    .max(NOTIFY_BY.length, listProblem(NOTIFY_PROBLEM))
    .describe(
      'How alerts are sent: webhook and chat (if there is one), email to the owners, admins and developers of the account (at most one an hour); an empty list sends none',
    ),
  webhook: text({ maxLength: 2_000 }).nullable().describe('Address that receives the alerts'),
  chat: text({ maxLength: 2_000 })
    .nullable()
    .describe(
      'Address of an incoming webhook of Slack, Discord or Teams, which gets at most one message a minute',
    ),
  maxUnits: integer({ min: 0 }).nullable().describe('Refuse the tracker if a check can cost more than this'),
};

const subjects = {
  domain: oneOfNumbers(DOMAINS)
    .optional()
    .meta({
      description: 'Site of asins, as a number of the provider',
      examples: [1],
    }),
  asins: listOf('ASIN', z.string().meta({ ...ASIN_SCHEMA })).describe(
    `1-${MOST_TRACKED.toLocaleString('en')} products; with domain`,
  ),
  country: reportSite().optional().describe('Site code of keywords'),
  keywords: listOf('keyword', text({ maxLength: 200 })).meta({
    description: 'Search terms of the brand-analytics reports, instead of asins; with country',
    // plain-english: allow
    examples: [['desk lamp']],
  }),
  screen: z
    .record(z.string(), z.unknown(), 'must be an object with the parameters of /api/research/screen')
    .optional()
    .meta({
      description:
        'Parameters of /api/research/screen as JSON, without week, cursor and fields, instead of asins or keywords: an alert for each term that enters or leaves its first limit terms',
      examples: [{ country: 'us', rank: { max: 1500 }, words: ['lamp'] }],
    }),
};

/** What a request says about times and conditions when it does not name them. */
const DEFAULTS = { timezone: 'UTC', alertAtStart: false, hysteresisPercent: 2, quietHours: 24 };

const OF_CONDITIONS = ['cron', 'conditions', ...Object.keys(DEFAULTS)] as readonly (
  | 'cron'
  | 'conditions'
  | keyof typeof DEFAULTS
)[];

export const newTrackerSchema = exactObject({
  ...fields,
  ...subjects,
  timezone: fields.timezone.default(DEFAULTS.timezone),
  paused: fields.paused.default(false),
  window: fields.window.default('any'),
  runHours: fields.runHours.default(DEFAULT_RUN_HOURS),
  alertAtStart: fields.alertAtStart.default(DEFAULTS.alertAtStart),
  hysteresisPercent: fields.hysteresisPercent.default(DEFAULTS.hysteresisPercent),
  quietHours: fields.quietHours.default(DEFAULTS.quietHours),
  notify: fields.notify.default(['webhook', 'chat']),
  webhook: fields.webhook.default(null),
  chat: fields.chat.default(null),
  maxUnits: fields.maxUnits.default(null),
});

export const trackerChangeSchema = exactObject({ ...fields, ...subjects })
  .partial()
  .refine((change) => Object.keys(change).length > 0, 'must contain at least one field to change');

type TrackerSettings = Omit<
  z.output<typeof newTrackerSchema>,
  keyof typeof subjects | 'cron' | 'conditions'
> & {
  /** Empty for a screen, which runs when a week is imported. */
  cron: string;
  /** None for a screen. */
  conditions: Condition[];
};

/** @throws BatchFaults */
export async function readTracker(body: string): Promise<{ settings: TrackerSettings; subjects: Subjects }> {
  const document = await parseBody(newTrackerSchema, body);
  const { domain, asins, country, keywords, screen, cron, conditions, ...settings } = document;
  const found = subjectsOf({ domain, asins, country, keywords, screen }, null);
  if (!found) throw fault('asins', 'is required: send domain and asins, country and keywords, or screen');
  if (found.kind === 'screen') {
    const { timezone, alertAtStart, hysteresisPercent, quietHours } = settings;
    const others = { timezone, alertAtStart, hysteresisPercent, quietHours };
    requireNoTimes({ cron, conditions, ...others }, DEFAULTS);
    return { settings: { ...settings, cron: '', conditions: [] }, subjects: found };
  }
  if (cron === undefined) throw fault('cron', 'is required: it must be a pattern such as 0 6 * * *');
  if (!conditions)
    throw fault('conditions', `is required: it must be a list of 1 to ${MOST_CONDITIONS} conditions`);
  requireFitting(conditions, found);
  return { settings: { ...settings, cron, conditions }, subjects: found };
}

/**
 * Reads a change of a tracker. Absent fields stay as they are.
 * @returns the subjects, or null if they stay.
 * @throws BatchFaults
 */
export async function readTrackerChange(
  body: string,
  present: TrackedSite,
): Promise<{ settings: Partial<TrackerSettings>; subjects: Subjects | null }> {
  const { domain, asins, country, keywords, screen, ...change } = await parseBody(trackerChangeSchema, body);
  const settings = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const found = subjectsOf({ domain, asins, country, keywords, screen }, present);
  if (found && found.kind !== present.kind)
    throw fault(
      { products: 'asins', keywords: 'keywords', screen: 'screen' }[found.kind],
      `must not be sent: this tracker has ${present.kind === 'screen' ? 'a screen' : present.kind}`,
    );
  if (present.kind === 'screen') requireNoTimes(change, {});
  if (change.conditions) requireFitting(change.conditions, found ?? present);
  return { settings, subjects: found };
}

interface SentSubjects {
  domain?: number | undefined;
  asins?: readonly string[] | undefined;
  country?: keyof typeof REPORT_SITES | undefined;
  keywords?: readonly string[] | undefined;
  screen?: Record<string, unknown> | undefined;
}

/** @returns null if the request names none. */
function subjectsOf(
  { domain, asins, country, keywords, screen }: SentSubjects,
  present: TrackedSite | null,
): Subjects | null {
  if (screen) {
    const [other] = Object.entries({ domain, asins, country, keywords }).find(([, sent]) => sent) ?? [];
    if (other) throw fault(other, 'must not be sent with screen, which has its own country');
    return screenOf(screen);
  }
  if ((asins || domain !== undefined) && (keywords || country))
    throw fault('keywords', 'and asins are both present: send domain and asins, or country and keywords');
  if (asins) {
    const site = domain ?? present?.domain;
    if (site === undefined) throw fault('domain', `is required: it must be one of ${DOMAINS.join(', ')}`);
    return { kind: 'products', domain: site, asins: unique(asins.map(asinOf)) };
  }
  if (keywords) {
    const site = country ? REPORT_SITES[country].domain : present?.domain;
    if (site === undefined)
      throw fault('country', `is required: it must be one of ${Object.keys(REPORT_SITES).join(', ')}`);
    return { kind: 'keywords', domain: site, terms: unique(keywords.map(normaliseTerm)) };
  }
  if (domain !== undefined) throw fault('asins', 'is required with domain');
  if (country) throw fault('keywords', 'is required with country');
  return null;
}

/** @throws BatchFaults */
function screenOf(sent: Record<string, unknown>): Subjects {
  for (const name of ['week', 'cursor'])
    if (sent[name] !== undefined)
      throw fault(`screen.${name}`, 'must not be sent: a saved screen reads each week that is imported');
  if (sent.fields !== undefined)
    throw fault('screen.fields', 'must not be sent: alerts about a saved screen need all fields');
  const read = screenOperation.params.safeParse(sent);
  if (!read.success)
    throw new BatchFaults(
      faultsIn(read.error).map(({ parameter, problem }) => ({ parameter: `screen.${parameter}`, problem })),
    );
  const { week: _week, cursor: _cursor, ...screen } = read.data;
  return { kind: 'screen', domain: REPORT_SITES[screen.country].domain, screen };
}

type OfConditions = Partial<Record<(typeof OF_CONDITIONS)[number], unknown>>;

/** A screen runs when a week is imported, and its filters are its conditions. */
function requireNoTimes(sent: OfConditions, allowed: OfConditions): void {
  const name = OF_CONDITIONS.find((one) => sent[one] !== undefined && sent[one] !== allowed[one]);
  if (name)
    throw fault(
      name,
      'must not be sent with a screen, which runs when a week is imported, and has no conditions',
    );
}

function requireFitting(conditions: readonly Condition[], { kind }: TrackedSite): void {
  const wrong = conditions.findIndex((condition) => isAboutKeywords(condition) !== (kind === 'keywords'));
  const found = conditions[wrong];
  if (found) throw fault(`conditions.${wrong}.type`, `${found.type} is no condition of ${kind}`);
}

function asinOf(sent: string, index: number): string {
  const asin = parseAsin(sent.trim());
  if (asin instanceof Fault) throw fault(`asins.${index}`, asin.problem);
  return asin;
}

function listOf(item: string, entry: z.ZodType<string>) {
  const wanted = `must be a list of 1 to ${MOST_TRACKED} ${item}s`;
  return z
    .array(entry, listProblem(wanted))
    .min(1, `${wanted}, got 0 items`)
    .max(MOST_TRACKED, listProblem(wanted))
    .optional();
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}

function fault(parameter: string, problem: string): BatchFaults {
  return new BatchFaults([{ parameter, problem }]);
}
