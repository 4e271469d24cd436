const FACTOR = Number(process.env.SOUK_TEST_REPEAT ?? 1);

/**
 * How often a property is tried whose every run makes requests or queries. `npm test` tries it `runs` times;
 * SOUK_TEST_REPEAT=10 tries it ten times as often.
 */
export function repetitions(runs: number): number {
  return runs * FACTOR;
}
