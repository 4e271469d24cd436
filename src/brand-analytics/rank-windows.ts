/**
 * Ranks are divided into windows of 2^14 ranks; the last one has no end. A row has its window as one of its tags.
 * So the index finds matching rows of a few windows, and not all matching rows of the week.
 */
const LOG2_RANKS = 14;
const COUNT = 500;

/** The tags of windows lie between the tags of fixed meaning and the labels. */
const FIRST_TAG = 100;

/** Returns the tag of the window of a rank, as SQL on integers. */
export function windowTagSql(rank: string): string {
  return `${FIRST_TAG} + least((${rank} - 1) >> ${LOG2_RANKS}, ${COUNT - 1})`;
}

/** A range of ranks to read: up to `to`, in the windows of these tags, or in all windows if there are no tags. */
export interface RankRange {
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
