/** Returns the same day and time some months later in UTC, or the last day of a month without that day. */
export function monthsAfter(start: Date, months: number): Date {
  const end = new Date(start);
  end.setUTCMonth(start.getUTCMonth() + months);
  // For Date, 31 January plus one month is 3 March. This sets the last day of February instead.
  if (end.getUTCDate() !== start.getUTCDate()) end.setUTCDate(0);
  return end;
}
