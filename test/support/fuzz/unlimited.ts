import { LIMITS } from '../../../src/config/limits.ts';

/** Settings without limits for a single account. */
export const UNLIMITED: Record<string, string> = Object.fromEntries(
  Object.keys(LIMITS).map((name) => [name, '1000000000']),
);
