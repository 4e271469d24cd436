import { fromKeepaMinutes, toKeepaMinutes } from './keepa-time.ts';

/** A period in Unix milliseconds, both ends included; open without `endMs`. */
export interface HistoryWindow {
  startMs: number;
  endMs?: number;
}

/** Returns the window of the last `days` times 24 hours. */
export function lastDays(days: number, nowMs: number): HistoryWindow {
  return { startMs: nowMs - days * 86_400_000 };
}

/**
 * Cuts a series to a window. A series holds changes only, so the last point before the window is kept, with its own
 * time, because its value still applies when the window starts.
 * @param series points of `width` entries each, oldest first. The first entry of a point is its index time, in some
 *   series as a text.
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

/** Returns the first point for which `holds` is true, by binary search: it stays true for all later points. */
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

/** Returns whether an object last seen at an index time still existed when the window started. */
export function seenWithin(lastSeen: number, { startMs }: HistoryWindow): boolean {
  return lastSeen >= toKeepaMinutes(startMs);
}
