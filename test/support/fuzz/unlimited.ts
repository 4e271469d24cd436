import { LIMITS } from '../../../src/config/limits.ts';

/** Settings that let one account send everything. */
export const UNLIMITED: Record<string, string> = Object.fromEntries(
  Object.keys(LIMITS).map((name) => [name, '1000000000']),
);
