const DAY_MS = 86_400_000;

/** Returns whether a date is a Saturday. Weeks run from Sunday to Saturday; a week's date (YYYY-MM-DD) is its Saturday. */
export function isSaturday(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).getUTCDay() === 6;
}

/** Returns whether a text is a valid calendar date, YYYY-MM-DD. */
export function isDate(text: string): boolean {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

/** Adds days to a date; a negative number goes back. */
export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Returns the last Saturday that has ended in UTC. A week's report cannot exist before its Saturday has ended. */
export function lastEndedWeek(now: number): string {
  const today = new Date(now).toISOString().slice(0, 10);
  const daysSince = (new Date(now).getUTCDay() + 1) % 7 || 7;
  return addDays(today, -daysSince);
}

/** Returns the `count` dates closest to `to`, the closest first. */
export function nearestDates(dates: readonly string[], to: string, count: number): string[] {
  const distance = (date: string) => Math.abs(Date.parse(date) - Date.parse(to));
  return [...dates].sort((a, b) => distance(a) - distance(b)).slice(0, count);
}
