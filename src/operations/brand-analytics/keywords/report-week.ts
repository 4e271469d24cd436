const DAY_MS = 86_400_000;

/** Weeks run from Sunday to Saturday, and the date of a week (YYYY-MM-DD) is its Saturday. */
export function isSaturday(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).getUTCDay() === 6;
}

/** Whether a text is a day of the calendar, as YYYY-MM-DD. */
export function isDate(text: string): boolean {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

/** The date so many days later, or earlier. */
export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** The last Saturday that is over everywhere: a week's report cannot exist before. */
export function lastEndedWeek(now: number): string {
  const today = new Date(now).toISOString().slice(0, 10);
  const daysSince = (new Date(now).getUTCDay() + 1) % 7 || 7;
  return addDays(today, -daysSince);
}

/** Of some dates those closest to one, the closest first. */
export function nearestDates(dates: readonly string[], to: string, count: number): string[] {
  const distance = (date: string) => Math.abs(Date.parse(date) - Date.parse(to));
  return [...dates].sort((a, b) => distance(a) - distance(b)).slice(0, count);
}
