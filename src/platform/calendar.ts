/** The same day and time some months later in UTC, or the last day of a month that has no such day. */
export function monthsAfter(start: Date, months: number): Date {
  const end = new Date(start);
  end.setUTCMonth(start.getUTCMonth() + months);
  // 31 January and one month is 3 March for Date; the day before that month began is meant.
  if (end.getUTCDate() !== start.getUTCDate()) end.setUTCDate(0);
  return end;
}
