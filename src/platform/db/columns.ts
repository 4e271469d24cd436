/**
 * SQL of a timestamp column as Unix milliseconds. Queries name their columns like the fields of their row type, so
 * rows need no mapping.
 */
export function unixMs(column: string): string {
  return `(extract(epoch from ${column}) * 1000)::bigint`;
}
