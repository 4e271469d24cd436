import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Billing, openBilling } from '../support/billing.ts';

let billing: Billing;
beforeAll(async () => {
  billing = await openBilling();
});
afterAll(() => billing.close());

async function monthOf(subscribedAt: string | Date, at: string | Date): Promise<[string, string]> {
  const { rows } = await billing.database.query<{ first: Date; next: Date }>(
    'select souk_month_start($1, $2, 0) as first, souk_month_start($1, $2, 1) as next',
    [new Date(subscribedAt), new Date(at)],
  );
  return [rows[0]?.first.toISOString() ?? '', rows[0]?.next.toISOString() ?? ''];
}

const midnight = (day: string) => `${day}T00:00:00.000Z`;

test.each([
  [
    'on its first day, starting at midnight',
    '2026-01-15T13:40Z',
    '2026-01-15T14:00Z',
    '2026-01-15',
    '2026-02-15',
  ],
  [
    'at the last moment before the next',
    '2026-01-15',
    '2026-02-14T23:59:59.999Z',
    '2026-01-15',
    '2026-02-15',
  ],
  ['at the first moment of the next', '2026-01-15', '2026-02-15', '2026-02-15', '2026-03-15'],
  ['begun on the 1st', '2026-01-01', '2026-03-31T23:00Z', '2026-03-01', '2026-04-01'],
  ['begun on the 31st, in a month of 30 days', '2026-01-31', '2026-05-15', '2026-04-30', '2026-05-31'],
  ['begun on the 31st, on the 30th of such a month', '2026-01-31', '2026-04-30', '2026-04-30', '2026-05-31'],
  ['begun on the 31st, in February', '2026-01-31', '2026-02-27', '2026-01-31', '2026-02-28'],
  ['begun on the 31st, on the last of February', '2026-01-31', '2026-02-28', '2026-02-28', '2026-03-31'],
  [
    'begun on the 31st, in the February of a leap year',
    '2027-12-31',
    '2028-02-28',
    '2028-01-31',
    '2028-02-29',
  ],
  ['begun on the 30th, over a leap day', '2027-11-30', '2028-03-01', '2028-02-29', '2028-03-30'],
  ['begun on the leap day, a year later', '2028-02-29', '2029-02-28', '2029-02-28', '2029-03-29'],
  ['begun on the leap day, four years later', '2028-02-29', '2032-02-29', '2032-02-29', '2032-03-29'],
  ['over the turn of the year', '2026-12-20', '2027-01-05', '2026-12-20', '2027-01-20'],
])('returns the month of a subscription %s', async (_, subscribedAt, at, first, next) => {
  expect(await monthOf(subscribedAt, at)).toEqual([midnight(first), midnight(next)]);
});

const DAY_MS = 86_400_000;

test('months of 28 to 31 days follow each other without a gap and start on the start day or the last day of the month', async () => {
  const start = fc.integer({ min: Date.parse('2024-01-01'), max: Date.parse('2027-12-31') });
  const later = fc.integer({ min: 0, max: 4 * 365 * DAY_MS });
  await fc.assert(
    fc.asyncProperty(start, later, async (subscribedAt, distance) => {
      const at = subscribedAt + distance;
      const [first, next] = await monthOf(new Date(subscribedAt), new Date(at));
      const [from, to] = [Date.parse(first), Date.parse(next)];
      expect(from).toBeLessThanOrEqual(at);
      expect(to).toBeGreaterThan(at);
      const days = (to - from) / DAY_MS;
      expect(days).toBeGreaterThanOrEqual(28);
      expect(days).toBeLessThanOrEqual(31);
      const wanted = new Date(subscribedAt).getUTCDate();
      const lastOfMonth = new Date(
        Date.UTC(new Date(to).getUTCFullYear(), new Date(to).getUTCMonth() + 1, 0),
      );
      expect(new Date(to).getUTCDate()).toBe(Math.min(wanted, lastOfMonth.getUTCDate()));
      expect(await monthOf(new Date(subscribedAt), next)).toEqual([next, expect.anything()]);
    }),
    { numRuns: 150 },
  );
});
