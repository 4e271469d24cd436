/** SQL of a timestamp column as Unix milliseconds. Rows are typed by the aliases of their columns, and mapped nowhere else. */
export function unixMs(column: string): string {
  return `(extract(epoch from ${column}) * 1000)::bigint`;
}
