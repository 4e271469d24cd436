import { isDate } from '../../platform/calendar.ts';

/** What rows can be sorted by. */
export const SORT_KEYS = [
  'rank',
  'change4',
  'change12',
  'clickShare',
  'conversionShare',
  'firstSeen',
] as const;

export type SortKey = (typeof SORT_KEYS)[number];

/** A key, ascending, or descending with a minus. */
export type ScreenSort = SortKey | `-${SortKey}`;

export const SCREEN_SORTS = SORT_KEYS.flatMap((key): ScreenSort[] => [key, `-${key}`]) as [
  ScreenSort,
  ...ScreenSort[],
];

/** Returns the key of a sort, and whether it is descending. */
export function sortOf(sort: ScreenSort): { key: SortKey; descending: boolean } {
  const descending = sort.startsWith('-');
  return { key: (descending ? sort.slice(1) : sort) as SortKey, descending };
}

/** The last row of a page. A week never changes, so the next page starts at the same row at any time. */
export interface ScreenPosition {
  week: string;
  sort: ScreenSort;
  /** What the row is sorted by: places, hundredths of a percent, or a date; null if unknown. */
  value: number | string | null;
  rank: number;
  wordId: number;
}

/** Longer texts are not cursors. */
export const LONGEST_CURSOR = 120;

const LARGEST = 2_147_483_647;

/** The largest sum of three shares, in hundredths of a percent. */
const LARGEST_SUM = 30_000;

export function cursorOf({ week, sort, value, rank, wordId }: ScreenPosition): string {
  return Buffer.from([week, sort, value ?? '', rank, wordId].join(' ')).toString('base64url');
}

/** Returns the position in a cursor; null if `cursorOf` cannot have written it. All numbers fit into columns of the database. */
export function positionOf(cursor: string): ScreenPosition | null {
  if (cursor.length > LONGEST_CURSOR) return null;
  const [week = '', sort = '', value = '', rank = '', wordId = '', more] = Buffer.from(cursor, 'base64url')
    .toString('latin1')
    .split(' ');
  const known = SCREEN_SORTS.find((one) => one === sort);
  if (more !== undefined || !known || !isDate(week)) return null;
  const position: ScreenPosition = {
    week,
    sort: known,
    value: keyValueOf(value, sortOf(known).key),
    rank: Number(rank),
    wordId: Number(wordId),
  };
  const isRow = [position.rank, position.wordId].every(
    (one) => Number.isInteger(one) && one >= 1 && one <= LARGEST,
  );
  const isRight = isRow && (position.value !== null || value === '') && cursorOf(position) === cursor;
  return isRight && fits(position) ? position : null;
}

function keyValueOf(text: string, key: SortKey): number | string | null {
  if (text === '') return null;
  return key === 'firstSeen' ? text : Number(text);
}

function fits({ sort, value, rank }: ScreenPosition): boolean {
  const { key } = sortOf(sort);
  if (key === 'rank') return value === rank;
  if (key === 'firstSeen') return typeof value === 'string' && isDate(value) && value >= '1900';
  if (value === null) return true;
  const most = key === 'change4' || key === 'change12' ? LARGEST : LARGEST_SUM;
  const isInteger = typeof value === 'number' && Number.isInteger(value);
  return isInteger && value >= (most === LARGEST ? -LARGEST : 0) && value <= most;
}
