import { LIMITS } from '../../src/config/limits.ts';

const HIGH = 1_000_000_000;

/** Settings in which nothing limits a single account or address. @param others limits that stay. */
export function unlimited(others: Partial<Record<keyof typeof LIMITS, number>> = {}): { LIMITS: string } {
  const raised = Object.entries(LIMITS).filter(([, limit]) => limit.safeParse(HIGH).success);
  return {
    LIMITS: JSON.stringify({ ...Object.fromEntries(raised.map(([name]) => [name, HIGH])), ...others }),
  };
}
