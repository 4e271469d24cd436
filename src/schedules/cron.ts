import { CronExpressionParser } from 'cron-parser';

/** When a schedule is due: a cron pattern of five fields, on the wall clock of a time zone. */
export interface Timing {
  cron: string;
  /** IANA name. */
  timezone: string;
}

/** What is wrong with a pattern; null: it has runs to come. */
export function cronProblem({ cron, timezone }: Timing, now: number): string | null {
  const wanted = 'must be a cron pattern of five fields: minute, hour, day of month, month, day of week';
  if (cron.trim().split(/\s+/).length !== 5) return wanted;
  try {
    nextRuns({ cron, timezone }, now, 1);
    return null;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `${wanted}; ${reason}`;
  }
}

/** The next moments a schedule is due after an instant, in Unix milliseconds. */
export function nextRuns({ cron, timezone }: Timing, after: number, count: number): number[] {
  const moments = CronExpressionParser.parse(cron, { currentDate: new Date(after), tz: timezone });
  return moments.take(count).map((moment) => moment.getTime());
}

/** The last moment it was due, up to an instant and at that. */
export function lastRun({ cron, timezone }: Timing, upTo: number): number {
  const moments = CronExpressionParser.parse(cron, { currentDate: new Date(upTo + 1), tz: timezone });
  return moments.prev().getTime();
}
