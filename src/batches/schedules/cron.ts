import { Cron } from 'croner';

/** When a schedule is due: a cron pattern of five fields, on the wall clock of a time zone. */
export interface Timing {
  cron: string;
  /** IANA name. */
  timezone: string;
}

/** No pattern names anything shorter. */
const SECOND_MS = 1_000;

/** What is wrong with a pattern; null: it has runs to come. */
export function cronProblem({ cron, timezone }: Timing, now: number): string | null {
  const wanted = 'must be a cron pattern of five fields: minute, hour, day of month, month, day of week';
  // The parser knows nicknames such as @daily as well.
  if (cron.trim().split(/\s+/).length !== 5) return wanted;
  try {
    const hasRuns = nextRuns({ cron, timezone }, now, 1).length > 0;
    return hasRuns ? null : `${wanted}; no day is like ${JSON.stringify(cron)}`;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `${wanted}; ${reason.replace(/^CronPattern: /, '')}`;
  }
}

/** The next moments a schedule is due after an instant, in Unix milliseconds. */
export function nextRuns(timing: Timing, after: number, count: number): number[] {
  return parse(timing)
    .nextRuns(count, new Date(after))
    .map((moment) => moment.getTime());
}

/** The last moment it was due, up to an instant and at that; null: it never was. */
export function lastRun(timing: Timing, upTo: number): number | null {
  const before = (Math.floor(upTo / SECOND_MS) + 1) * SECOND_MS;
  const [moment] = parse(timing).previousRuns(1, new Date(before));
  return moment?.getTime() ?? null;
}

/**
 * When clocks change, a time that does not exist comes right after the gap, and one that comes twice counts the first time;
 * what is due every so often (a field with * or a step) follows real time.
 */
function parse({ cron, timezone }: Timing): Cron {
  return new Cron(cron, { timezone, mode: '5-part', fixedTimeRule: 'no-wildcard' });
}
