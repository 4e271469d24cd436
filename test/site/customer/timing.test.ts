import { expect, test } from 'vitest';
import { cronOf, timesText, timingValues } from '../../../src/site/customer/timing-fields.tsx';
import { rows } from '../../support/words.ts';

test.each(
  rows(`
    0 * * * *    | hourly    | Every hour
    0 */6 * * *  | sixHourly | Every 6 hours
    30 9 * * *   | daily     | Every day at 09:30
    5 0 * * 0    | weekly    | Every Sunday at 00:05
    0 6 * * 1-5  | weekly    | Monday to Friday at 06:00
    15 23 28 * * | monthly   | On day 28 of each month at 23:15
    0 6 31 * *   | custom    | 0 6 31 * *
    0 6 1 * 1    | custom    | 0 6 1 * 1
    0 6 * * 7    | custom    | 0 6 * * 7
    00 6 * * *   | custom    | 00 6 * * *
    99 6 * * *   | custom    | 99 6 * * *
    every monday | custom    | every monday
  `),
)('the pattern %s has the times %s and the words %s, and stays the same in a form', (cron, times, text) => {
  const values = timingValues(cron, 'Europe/Berlin');
  expect(values).toMatchObject({ times, timezone: 'Europe/Berlin' });
  expect(timesText(cron)).toBe(text);
  expect(cronOf(values)).toBe(cron);
});
