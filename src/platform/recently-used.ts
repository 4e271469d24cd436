import { LRUCache } from 'lru-cache';

/**
 * Creates a map of the most recently used entries, at most `count`. Its memory grows with its entries. With the option `max`,
 * lru-cache fills lists of that length first, which is a fifth of the work of opening a gateway.
 */
export function recentlyUsed<K extends string | number, V extends {}>(count: number): LRUCache<K, V> {
  return new LRUCache({ maxSize: count, sizeCalculation: () => 1 });
}
