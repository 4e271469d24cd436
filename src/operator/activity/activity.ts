import { z } from 'zod';
import { DAY_MS, HOUR_MS, WEEK_MS } from '../../platform/durations.ts';

export const ACTIVITY_RANGES = {
  '24h': ['24 hours', 'hour'],
  '30d': ['30 days', 'day'],
  '365d': ['365 days', 'week'],
} as const;

export type ActivityRange = keyof typeof ACTIVITY_RANGES;
export type ActivityStep = (typeof ACTIVITY_RANGES)[ActivityRange][1];

const RANGE_NAMES = Object.keys(ACTIVITY_RANGES) as [ActivityRange, ...ActivityRange[]];

export const activityFields = z.object({
  range: z.enum(RANGE_NAMES, `must be one of ${RANGE_NAMES.join(', ')}`).default('30d'),
});

export type ActivityUnit = 'cents' | 'count' | 'percent' | 'seconds';

/** A figure over time. Unknown values are null. */
export interface ActivitySeries {
  id: string;
  name: string;
  /** One for each step, in their order. */
  values: (number | null)[];
  /** Of the whole range: a sum, a maximum or a share, of the steps that are known. */
  total: number | null;
  /** The start of the first step that is known, if it is not the first one. ISO 8601. */
  since: string | null;
}

interface Definition {
  title: string;
  unit: ActivityUnit;
  source: string;
  formula: string;
}

/** What the charts show. The page, the API and docs/operating/activity.md have the same texts. */
export const ACTIVITY_CHARTS = {
  revenue: {
    title: 'Revenue',
    unit: 'cents',
    source: 'purchases and paid invoices of renewing plans, without taxes',
    formula: 'what was paid, and what refunds and disputes took back, at their times',
  },
  customers: {
    title: 'Customers',
    unit: 'count',
    source: 'accounts, calls, purchases',
    formula:
      'accounts created; accounts with a call that was accepted in the time and has ended; accounts that paid for the first time',
  },
  conversion: {
    title: 'Conversion and churn',
    unit: 'percent',
    source: 'accounts, purchases, plans of accounts',
    formula:
      'conversion = accounts that paid for the first time / accounts created; churn = plans that ended while their account had no other plan / plans that ran at the start',
  },
  units: {
    title: 'Units and calls',
    unit: 'count',
    source: 'usage statistics',
    formula: 'units charged less units refunded; calls charged',
  },
  tokens: {
    title: 'Tokens',
    unit: 'count',
    source: 'usage statistics',
    formula: 'tokens that the data provider charged; tokens that cached data cost when it was fetched',
  },
  hits: {
    title: 'Cache hit rate',
    unit: 'percent',
    source: 'usage statistics',
    formula: 'calls answered from the cache / calls charged',
  },
  errors: {
    title: 'Errors',
    unit: 'percent',
    source: 'usage statistics',
    formula:
      'calls that failed on our side or upstream / (those + calls charged); errors of customers do not count',
  },
  p95: {
    title: 'Run time, p95 by operation',
    unit: 'seconds',
    source: 'usage statistics, which count jobs by bounds of their run time',
    formula: 'the lowest bound within which 95 % of the jobs ended, of the operations with most jobs',
  },
  queue: {
    title: 'Waiting jobs',
    unit: 'count',
    source: 'one reading of the queues a minute',
    formula: 'the most jobs that waited in the queue of a pool',
  },
} as const satisfies Record<string, Definition>;

export type ActivityChartId = keyof typeof ACTIVITY_CHARTS;

export interface ActivityChart extends Definition {
  id: ActivityChartId;
  series: ActivitySeries[];
}

/** An operation in the whole range. */
export interface OperationActivity {
  operation: string;
  calls: number;
  unitsSold: number;
  tokensSpent: number;
  hitPercent: number | null;
  errorPercent: number | null;
  /** Jobs whose run time was counted. */
  jobs: number;
  p95Seconds: number | null;
}

export interface ActivityReport {
  range: ActivityRange;
  step: ActivityStep;
  /** ISO 8601. `to` is now; the last step is not over yet. */
  from: string;
  to: string;
  /** ISO 4217, lower case. */
  currency: string;
  /** The starts of the steps: hours, days, and weeks from Monday, in UTC. */
  starts: string[];
  charts: ActivityChart[];
  operations: OperationActivity[];
}

const STEPS = { hour: [HOUR_MS, 24], day: [DAY_MS, 30], week: [WEEK_MS, 53] } as const;

/** The Unix epoch was a Thursday. */
const MONDAY_MS = 4 * DAY_MS;

/** Returns the starts of the steps of a range in Unix milliseconds; the last one is that of now. */
export function startsOf(range: ActivityRange, now: number): number[] {
  const step = ACTIVITY_RANGES[range][1];
  const [length, steps] = STEPS[step];
  const origin = step === 'week' ? MONDAY_MS : 0;
  const last = Math.floor((now - origin) / length) * length + origin;
  return Array.from({ length: steps }, (_, i) => last - (steps - 1 - i) * length);
}

/** Returns when the step with this start ends. */
export function endOf(range: ActivityRange, start: number): number {
  return start + STEPS[ACTIVITY_RANGES[range][1]][0];
}

/** Returns a share in percent; null if it is not known, or if there is nothing of which it could be one. */
export function percent(part: number | null, whole: number | null): number | null {
  return part === null || whole === null || whole === 0 ? null : (100 * part) / whole;
}

export function sum(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0);
}

export function highest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/**
 * Returns the lowest bound within which 95 % of the jobs ended.
 * @param counts of the jobs up to each bound and above the bound before.
 * @returns null if there were no jobs, or if the bounds do not reach that far.
 */
export function p95(jobs: number, counts: readonly number[], bounds: readonly number[]): number | null {
  if (jobs === 0) return null;
  let within = 0;
  const at = counts.findIndex((count) => {
    within += count;
    return within >= 0.95 * jobs;
  });
  return bounds[at] ?? null;
}
