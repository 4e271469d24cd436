import { FLUCTUATIONS, type Fluctuation } from '../operations/brand-analytics/keywords/fluctuation.ts';

/**
 * Besides labels (1000 and above) and tokens (below 0), a row carries tags of a fixed meaning, so that one index finds
 * rows by any combination of filters.
 */
export const fluctuationTag = (fluctuation: Fluctuation) => FLUCTUATIONS.indexOf(fluctuation) + 1;

/** A row has the tag of each step, in percent, that its sum reaches. */
const CLICK_STEPS = [25, 50, 75, 90, 100] as const;
const CONVERSION_STEPS = [10, 25, 50, 75, 90] as const;
const FIRST_CLICK_TAG = 10;
const FIRST_CONVERSION_TAG = 20;

/** Adds a row's tags of its sums. @param clicks,conversions sums in hundredths of a percent. */
export function addSumTags(tags: number[], clicks: number, conversions: number): void {
  for (let i = 0; i < CLICK_STEPS.length; i += 1)
    if (clicks >= (CLICK_STEPS[i] ?? 0) * 100) tags.push(FIRST_CLICK_TAG + i);
  for (let i = 0; i < CONVERSION_STEPS.length; i += 1)
    if (conversions >= (CONVERSION_STEPS[i] ?? 0) * 100) tags.push(FIRST_CONVERSION_TAG + i);
}

/** The tag of the highest step that is not above the minimum, in percent; rows that reach the minimum have it. */
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
