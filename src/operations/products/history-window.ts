import { fromKeepaMinutes, toKeepaMinutes } from './keepa-time.ts';

/** A stretch of time in Unix milliseconds, both ends included; without `endMs` it is open. */
export interface HistoryWindow {
  startMs: number;
  endMs?: number;
}

/** The window of the last `days` times 24 hours. */
export function lastDays(days: number, nowMs: number): HistoryWindow {
  return { startMs: nowMs - days * 86_400_000 };
}

/**
 * The part of a series that a window shows. A series holds changes only, so the point in force when the window opens
 * is kept, with its own, earlier time; points after the end are dropped.
 * @param series points of `width` entries each, oldest first; the first entry of a point is its index time, which
 *   some series write as a text.
 */
export function cutSeries<Entry extends number | string>(
  series: readonly Entry[],
  width: number,
  { startMs, endMs = Number.POSITIVE_INFINITY }: HistoryWindow,
): Entry[] {
  const pointCount = Math.floor(series.length / width);
  const timeOf = (point: number) => fromKeepaMinutes(Number(series[point * width]));
  const from = firstPoint(pointCount, (point) => timeOf(point) > startMs);
  const to = firstPoint(pointCount, (point) => timeOf(point) > endMs);
  return series.slice(Math.max(0, from - 1) * width, to * width);
}

/** The first point for which `holds`; points are in order, so once true it stays true. */
function firstPoint(count: number, holds: (point: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Whether something last seen at an index time was still there when the window opened. */
export function seenWithin(lastSeen: number, { startMs }: HistoryWindow): boolean {
  return lastSeen >= toKeepaMinutes(startMs);
}
