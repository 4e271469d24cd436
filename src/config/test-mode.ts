import { z } from 'zod';
import { TEST_UNITS_PER_DAY } from '../billing/test-wallet.ts';

/** Settings of test keys. */
export const TEST_MODE_SETTINGS = {
  TEST_MODE: z
    .enum(['on', 'off'], 'must be on or off')
    .default('on')
    .describe(
      'Whether customers may create test keys, whose calls are answered by the demo provider and are free. With `off`, test keys get `401`',
    ),
  TEST_UNITS_PER_DAY: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(TEST_UNITS_PER_DAY)
    .describe('Units that the test keys of an account may use in a day together'),
} as const;

/** Returns the settings of test mode; null if it is off. */
export function testModeOf(config: {
  TEST_MODE: 'on' | 'off';
  TEST_UNITS_PER_DAY: number;
}): { unitsPerDay: number } | null {
  return config.TEST_MODE === 'on' ? { unitsPerDay: config.TEST_UNITS_PER_DAY } : null;
}
