/**
 * Windows of ranks. A row is found by those it lies in, as by its other tags, so that one index finds what fits within
 * some ranks only, where it would otherwise bring all that fits in the week. Their tags lie between those of a fixed meaning
 * and the labels.
 */
const FINE = { firstTag: 100, log2Ranks: 14, count: 500 };
const COARSE = { firstTag: 600, log2Ranks: 17, count: 400 };

type Windows = typeof FINE;

/** The tags of the windows a rank lies in, as SQL of two integers. The last window of a kind has no end. */
export function windowTagsSql(rank: string): string {
  return [FINE, COARSE]
    .map(
      ({ firstTag, log2Ranks, count }) => `${firstTag} + least((${rank} - 1) >> ${log2Ranks}, ${count - 1})`,
    )
    .join(', ');
}

/** Ranks to look through in one go: up to `to`, in the windows of these tags; in all of them when there are none. */
export interface Look {
  to: number;
  tags: readonly number[];
}

/** How many windows each look goes through: about eight times as many ranks as the one before. The next sees the rest. */
const LOOKS: readonly (Windows & { windows: number })[] = [
  { ...FINE, windows: 2 },
  { ...FINE, windows: 14 },
  { ...COARSE, windows: 8 },
];

/**
 * The look through the ranks behind one. What is frequent is found by the first, and what is rare is not fetched from all
 * over the week more than once.
 * @param end the last rank of interest.
 * @param looksBefore looks that have not found enough.
 */
export function lookBehind(after: number, end: number, looksBefore: number): Look {
  const look = LOOKS[looksBefore];
  if (!look) return { to: end, tags: [] };
  const { firstTag, log2Ranks, count, windows } = look;
  const first = Math.min(count - 1, after >> log2Ranks);
  const last = Math.min(count - 1, first + windows - 1);
  return {
    to: last === count - 1 ? end : Math.min(end, (last + 1) * 2 ** log2Ranks),
    tags: Array.from({ length: last - first + 1 }, (_, i) => firstTag + first + i),
  };
}
