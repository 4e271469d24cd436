/** Index time counts minutes from 2011-01-01T00:00Z. */
const EPOCH_MINUTES = 21_564_000;

/** Converts an index time to Unix milliseconds. */
export function fromKeepaMinutes(minutes: number): number {
  return (minutes + EPOCH_MINUTES) * 60_000;
}

/** Converts Unix milliseconds to an index time, rounded down. */
export function toKeepaMinutes(unixMs: number): number {
  return Math.floor(unixMs / 60_000) - EPOCH_MINUTES;
}
