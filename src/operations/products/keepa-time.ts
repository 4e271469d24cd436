/** Index time counts minutes from 2011-01-01T00:00Z. */
const EPOCH_MINUTES = 21_564_000;

/** Unix milliseconds of an index time. */
export function fromKeepaMinutes(minutes: number): number {
  return (minutes + EPOCH_MINUTES) * 60_000;
}

/** The index time in which a moment (Unix milliseconds) lies. */
export function toKeepaMinutes(unixMs: number): number {
  return Math.floor(unixMs / 60_000) - EPOCH_MINUTES;
}
