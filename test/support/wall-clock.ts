import type { OffPeakWindow } from '../../src/billing/wallets.ts';

const formats = new Map<string, Intl.DateTimeFormat>();

/** The wall clock of a zone as `HH:MM`, as JavaScript knows it: an opinion of its own beside PostgreSQL's. */
export function wallClock(at: number, timeZone: string): string {
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone,
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
    formats.set(timeZone, format);
  }
  return format.format(at);
}

/** Whether the wall clock of its zone stands within the window. */
export function isInWindow(at: number, { start, end, timezone }: OffPeakWindow): boolean {
  const time = wallClock(at, timezone);
  return start < end ? time >= start && time < end : time >= start || time < end;
}
