import { Cron } from 'croner';
import { SECOND_MS } from '../../platform/durations.ts';

/** The times at which a schedule is due: a cron pattern of five fields, in the local time of a time zone. */
export interface Timing {
  cron: string;
  /** IANA name. */
  timezone: string;
}

/** Returns what is wrong with a pattern; null if it is valid and has a next run. */
export function cronProblem({ cron, timezone }: Timing, now: number): string | null {
  const wanted = 'must be a cron pattern of five fields: minute, hour, day of month, month, day of week';
  // The parser also accepts nicknames such as @daily.
  if (cron.trim().split(/\s+/).length !== 5) return wanted;
  try {
    const hasRuns = nextRuns({ cron, timezone }, now, 1).length > 0;
    return hasRuns ? null : `${wanted}; ${JSON.stringify(cron)} matches no date`;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `${wanted}; ${reason.replace(/^CronPattern: /, '')}`;
  }
}

/** Returns the next times at which a schedule is due after an instant, in Unix milliseconds. */
export function nextRuns(timing: Timing, after: number, count: number): number[] {
  return parse(timing)
    .nextRuns(count, new Date(after))
    .map((moment) => moment.getTime());
}

/** Counts the times at which a schedule is due, from `from` and before `until`. It steps through them one by one, so the period must be short. */
export function countRuns(timing: Timing, from: number, until: number): number {
  const cron = parse(timing);
  let count = 0;
  // A run at `from` counts, and `nextRun` returns later times only.
  let next = cron.nextRun(new Date(from - SECOND_MS));
  for (; next && next.getTime() < until; next = cron.nextRun(next)) count += 1;
  return count;
}

/** Returns the last time at which a schedule was due, up to and including an instant; null if it never was. */
export function lastRun(timing: Timing, upTo: number): number | null {
  const before = (Math.floor(upTo / SECOND_MS) + 1) * SECOND_MS;
  const [moment] = parse(timing).previousRuns(1, new Date(before));
  return moment?.getTime() ?? null;
}

/**
 * When clocks change, a time that is skipped is due right after the gap, and a time that is repeated is due the
 * first time only. Patterns with * or a step keep their interval.
 */
function parse({ cron, timezone }: Timing): Cron {
  return new Cron(cron, { timezone, mode: '5-part', fixedTimeRule: 'no-wildcard' });
}
