import { FLUCTUATIONS, type Fluctuation } from '../operations/brand-analytics/keywords.ts';

/**
 * SQL of the tags by which a row of a week is found, including the window of its rank. Conditions must use exactly
 * this expression, because the index of a week is created on it.
 * @param row the row's table; none in the definition of the index.
 */
export function foundBySql(row?: string): string {
  const column = (name: string) => (row ? `${row}.${name}` : name);
  return `(${column('tags')} || (${windowTagSql(column('rank'))}))`;
}

/**
 * Tags of a fixed meaning. Labels are 1000 and above, tokens are below 0, so that one index finds rows by any
 * combination of filters.
 */
export const fluctuationTag = (fluctuation: Fluctuation) => FLUCTUATIONS.indexOf(fluctuation) + 1;

/** A row has a tag for each step, in percent, that its sum reaches. */
const CLICK_STEPS = [25, 50, 75, 90, 100] as const;
const CONVERSION_STEPS = [10, 25, 50, 75, 90] as const;
const FIRST_CLICK_TAG = 10;
const FIRST_CONVERSION_TAG = 20;

/** Adds the tags of a row's sums. @param clicks,conversions sums in hundredths of a percent. */
export function addSumTags(tags: number[], clicks: number, conversions: number): void {
  for (let i = 0; i < CLICK_STEPS.length; i += 1)
    if (clicks >= (CLICK_STEPS[i] ?? 0) * 100) tags.push(FIRST_CLICK_TAG + i);
  for (let i = 0; i < CONVERSION_STEPS.length; i += 1)
    if (conversions >= (CONVERSION_STEPS[i] ?? 0) * 100) tags.push(FIRST_CONVERSION_TAG + i);
}

/** Returns the tag of the highest step up to the minimum, in percent. All rows that reach the minimum have it. */
export function clickSumTag(min: number): number[] {
  return highest(CLICK_STEPS, min, FIRST_CLICK_TAG);
}

export function conversionSumTag(min: number): number[] {
  return highest(CONVERSION_STEPS, min, FIRST_CONVERSION_TAG);
}

function highest(steps: readonly number[], min: number, first: number): number[] {
  const reached = steps.filter((step) => min >= step).length;
  return reached === 0 ? [] : [first + reached - 1];
}

/**
 * Ranks are divided into windows of 2^14 ranks; the last one has no end. A row has its window as one of its tags.
 * So the index finds matching rows of a few windows, and not all matching rows of the week.
 */
const LOG2_RANKS = 14;
const COUNT = 500;

/** The tags of windows lie between the tags of fixed meaning and the labels. */
const FIRST_TAG = 100;

/** Returns the tag of the window of a rank, as SQL on integers. */
function windowTagSql(rank: string): string {
  return `${FIRST_TAG} + least((${rank} - 1) >> ${LOG2_RANKS}, ${COUNT - 1})`;
}

/** A range of ranks to read: up to `to`, in the windows of these tags, or in all windows if there are no tags. */
interface RankRange {
  to: number;
  tags: readonly number[];
}

/**
 * Number of windows in the first reads. If the second read has not found enough, matches are so rare that all
 * windows are read.
 */
const WINDOWS = [2, 14];

/**
 * Returns the range of ranks after a rank.
 * @param end the last rank to read.
 * @param readsBefore number of reads that have not found enough.
 */
export function rangeAfter(after: number, end: number, readsBefore: number): RankRange {
  const windows = WINDOWS[readsBefore];
  if (!windows) return { to: end, tags: [] };
  const first = Math.min(COUNT - 1, after >> LOG2_RANKS);
  const last = Math.min(COUNT - 1, first + windows - 1);
  return {
    to: last === COUNT - 1 ? end : Math.min(end, (last + 1) * 2 ** LOG2_RANKS),
    tags: Array.from({ length: last - first + 1 }, (_, i) => FIRST_TAG + first + i),
  };
}
