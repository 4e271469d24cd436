/** Returns one row for each keyword of a point or region. */
export function byValue({ values, ...place }: { values: object[] }): Record<string, unknown>[] {
  return values.map((value) => ({ ...place, ...value }));
}
