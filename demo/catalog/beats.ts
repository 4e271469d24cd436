import { DAY } from '../minutes.ts';
import { fractionOf, plus } from './random.ts';

/** Moments at irregular distances: the nth is anywhere in the nth period. */
export interface Beat {
  /** Hash state. */
  state: number;
  periodMinutes: number;
}

export function beatOf(state: number, days: number): Beat {
  return { state, periodMinutes: days * DAY };
}

/** Returns the time of a moment. */
export function timeOf({ state, periodMinutes }: Beat, n: number): number {
  return Math.floor((n + fractionOf(plus(state, n))) * periodMinutes);
}

/** Returns the number of the last moment until a time. */
export function lastBeat(of: Beat, minutes: number): number {
  const n = Math.floor(minutes / of.periodMinutes);
  return timeOf(of, n) <= minutes ? n : n - 1;
}

/** Returns the times of the moments after `from`, until `to`. */
export function timesBetween(of: Beat, from: number, to: number): number[] {
  const times: number[] = [];
  for (let n = lastBeat(of, from) + 1; timeOf(of, n) <= to; n += 1) times.push(timeOf(of, n));
  return times;
}

/** Returns one of several numbers in [0, 1) that a moment has. */
export function chanceOf({ state }: Beat, n: number, which: number): number {
  return fractionOf(plus(plus(state, n), which));
}

/** Periods such as promotions. Each begins at one of the moments; not every moment begins one. A period ends at the next moment at the latest. */
export interface Spans extends Beat {
  /** The share of the moments at which a period begins, from 0 to 1. */
  share: number;
  longestDays: number;
}

export function spansOf(
  state: number,
  [days, share, longestDays]: readonly [days: number, share: number, longestDays: number],
): Spans {
  return { state, periodMinutes: days * DAY, share, longestDays };
}

/** Returns the number of the moment that began the span of a time, or -1. */
export function spanAt(of: Spans, minutes: number): number {
  if (of.share === 0) return -1;
  const n = lastBeat(of, minutes);
  return minutes < endOf(of, n) ? n : -1;
}

/** Returns the times after `from` at which spans can begin or end, until `to`. */
export function edgesBetween(of: Spans, from: number, to: number): number[] {
  if (of.share === 0) return [];
  const times: number[] = [];
  for (let n = lastBeat(of, from); timeOf(of, n) <= to; n += 1)
    for (const time of [timeOf(of, n), endOf(of, n)]) if (time > from && time <= to) times.push(time);
  return times;
}

/** Returns when the span of a moment ends: at the moment itself if it begins none. */
function endOf(of: Spans, n: number): number {
  const days = chanceOf(of, n, 0) < of.share ? of.longestDays * (0.1 + 0.9 * chanceOf(of, n, 1)) : 0;
  return timeOf(of, n) + Math.floor(days * DAY);
}
