import { FLUCTUATIONS, type Fluctuation } from './fluctuation.ts';

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

/** @param clicks,conversions sums in hundredths of a percent. */
export function sumTags(clicks: number, conversions: number): number[] {
  return [
    ...reached(CLICK_STEPS, clicks, FIRST_CLICK_TAG),
    ...reached(CONVERSION_STEPS, conversions, FIRST_CONVERSION_TAG),
  ];
}

/** The tag of the highest step that is not above the minimum, in percent; rows that reach the minimum have it. */
export function clickSumTag(min: number): number[] {
  return reached(CLICK_STEPS, min * 100, FIRST_CLICK_TAG).slice(-1);
}

export function conversionSumTag(min: number): number[] {
  return reached(CONVERSION_STEPS, min * 100, FIRST_CONVERSION_TAG).slice(-1);
}

function reached(steps: readonly number[], sum: number, first: number): number[] {
  const tags: number[] = [];
  for (let i = 0; i < steps.length; i += 1) if (sum >= (steps[i] ?? 0) * 100) tags.push(first + i);
  return tags;
}
