import { FLUCTUATIONS, type Fluctuation } from '../operations/brand-analytics/keywords/fluctuation.ts';

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
