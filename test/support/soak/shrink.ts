/**
 * Removes what a failure does not need (delta debugging): first halves, then smaller parts, until every single item is needed
 * or `mostRuns` is reached.
 * @param fails runs the rest once, and returns whether the failure is still there.
 */
export async function shrink<T>(
  items: readonly T[],
  fails: (rest: readonly T[]) => Promise<boolean>,
  mostRuns: number,
): Promise<T[]> {
  let rest = [...items];
  let parts = 2;
  for (let runs = 0; rest.length > 1 && runs < mostRuns; ) {
    const size = Math.ceil(rest.length / parts);
    let isSmaller = false;
    for (let from = 0; from < rest.length && runs < mostRuns && !isSmaller; from += size) {
      const without = [...rest.slice(0, from), ...rest.slice(from + size)];
      runs += 1;
      isSmaller = await fails(without);
      if (isSmaller) rest = without;
    }
    if (isSmaller) parts = Math.max(2, parts - 1);
    else if (size === 1) break;
    else parts = Math.min(rest.length, parts * 2);
  }
  return rest;
}
