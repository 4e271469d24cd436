import { LRUCache } from 'lru-cache';

/** Durations in minutes, the unit of the provider's times. */
export const HOUR = 60;
export const DAY = 24 * HOUR;

/** Returns a function that remembers its last results, by its arguments, which are numbers and texts or lists of them. */
export function remembered<Args extends (string | number | readonly number[])[], Result extends {}>(
  max: number,
  make: (...args: Args) => Result,
): (...args: Args) => Result {
  const results = new LRUCache<string, Result>({ max });
  return (...args) => {
    const name = args.join();
    const result = results.get(name) ?? make(...args);
    results.set(name, result);
    return result;
  };
}
