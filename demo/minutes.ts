/** Durations in minutes, the unit of the provider's times. */
export const HOUR = 60;
export const DAY = 24 * HOUR;
