/**
 * Windows of so many ranks each, the last without an end. A row is found by its window as by its other tags, so that one
 * index finds what fits within some ranks only, where it would otherwise bring all that fits in the week.
 */
const LOG2_RANKS = 14;
const COUNT = 500;

/** Their tags lie between those of a fixed meaning and the labels. */
const FIRST_TAG = 100;

/** The tag of the window a rank lies in, as SQL of integers. */
export function windowTagSql(rank: string): string {
  return `${FIRST_TAG} + least((${rank} - 1) >> ${LOG2_RANKS}, ${COUNT - 1})`;
}

/** Ranks to look through in one go: up to `to`, in the windows of these tags; in all of them when there are none. */
export interface Look {
  to: number;
  tags: readonly number[];
}

/** Windows the first looks go through. What the second has not found enough of is rare enough to be fetched from everywhere. */
const WINDOWS = [2, 14];

/**
 * The look through the ranks behind one.
 * @param end the last rank of interest.
 * @param looksBefore looks that have not found enough.
 */
export function lookBehind(after: number, end: number, looksBefore: number): Look {
  const windows = WINDOWS[looksBefore];
  if (!windows) return { to: end, tags: [] };
  const first = Math.min(COUNT - 1, after >> LOG2_RANKS);
  const last = Math.min(COUNT - 1, first + windows - 1);
  return {
    to: last === COUNT - 1 ? end : Math.min(end, (last + 1) * 2 ** LOG2_RANKS),
    tags: Array.from({ length: last - first + 1 }, (_, i) => FIRST_TAG + first + i),
  };
}
