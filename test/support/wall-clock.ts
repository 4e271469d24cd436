import type { OffPeakWindow } from '../../src/billing/wallets.ts';

const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns the local time of a zone as `HH:MM`, computed by JavaScript, independently of PostgreSQL. */
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

/** Returns whether the local time is inside the window. */
export function isInWindow(at: number, { start, end, timezone }: OffPeakWindow): boolean {
  const time = wallClock(at, timezone);
  return start < end ? time >= start && time < end : time >= start || time < end;
}
