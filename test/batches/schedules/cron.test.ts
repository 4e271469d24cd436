import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cronProblem, lastRun, nextRuns, type Timing } from '../../../src/batches/schedules/cron.ts';
import { MINUTE_MS } from '../../../src/platform/durations.ts';

const at = (text: string) => Date.parse(text);
const iso = (moments: readonly number[]) => moments.map((unixMs) => new Date(unixMs).toISOString());
const NOW = at('2026-03-04T10:00:00Z');

test.each([
  ['finds every quarter of an hour', '*/15 * * * *', 'UTC', '2026-03-04T10:15:00.000Z'],
  ['starts after a run that is due now', '0 10 * * *', 'UTC', '2026-03-05T10:00:00.000Z'],
  ['follows the local time of the zone', '0 9 * * *', 'Asia/Kathmandu', '2026-03-05T03:15:00.000Z'],
  ['accepts names of weekdays', '0 9 * * MON-FRI', 'Europe/Berlin', '2026-03-05T08:00:00.000Z'],
  ['accepts 7 for Sunday', '0 0 * * 7', 'UTC', '2026-03-08T00:00:00.000Z'],
  ['finds the last day of a month', '0 0 L * *', 'UTC', '2026-03-31T00:00:00.000Z'],
  ['finds the first Monday of a month', '0 0 * * MON#1', 'UTC', '2026-04-06T00:00:00.000Z'],
  [
    'matches a day of the month or a weekday if both are given',
    '0 0 13 * FRI',
    'UTC',
    '2026-03-06T00:00:00.000Z',
  ],
  ['finds 29 February two years ahead', '0 0 29 2 *', 'UTC', '2028-02-29T00:00:00.000Z'],
])('%s', (_what, cron, timezone, next) => {
  expect(cronProblem({ cron, timezone }, NOW)).toBeNull();
  expect(iso(nextRuns({ cron, timezone }, NOW, 1))).toEqual([next]);
});

test.each([
  ['nothing', ''],
  ['a word', 'hourly'],
  ['a nickname', '@daily'],
  ['a nickname followed by four fields', '@daily * * * *'],
  ['four fields', '* * * *'],
  ['six fields', '0 0 9 * * *'],
  ['minute 60', '60 * * * *'],
  ['hour 24', '0 24 * * *'],
  ['day 32', '0 0 32 * *'],
  ['day 0', '0 0 0 * *'],
  ['month 13', '0 0 1 13 *'],
  ['weekday 8', '0 0 * * 8'],
  ['a step of 0', '*/0 * * * *'],
  ['a descending range', '5-1 * * * *'],
  ['half a minute', '0.5 * * * *'],
  ['a list with an empty item', '1,,2 * * * *'],
  ['a random value', 'H * * * *'],
  ['30 February', '0 0 30 2 *'],
  ['day 31 of months with 30 days or fewer', '0 0 31 2,4,6 *'],
])('refuses the pattern %s', (_what, cron) => {
  expect(cronProblem({ cron, timezone: 'UTC' }, NOW)).toMatch(/^must be a cron pattern of five fields/);
});

test.each([
  // Berlin: 29 March, 02:00 becomes 03:00; 25 October, 03:00 becomes 02:00.
  [
    'a skipped time is due right after the gap',
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z'],
    '2026-03-29T01:00Z 2026-03-30T00:30Z',
  ],
  [
    'a repeated time is due the first time only',
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z'],
    '2026-10-25T00:30Z 2026-10-26T01:30Z',
  ],
  [
    'each time of a list is due once on the day of a repeated hour',
    ['30 2,14 * * *', 'Europe/Berlin', '2026-10-24T23:00Z'],
    '2026-10-25T00:30Z 2026-10-25T13:30Z',
  ],
  [
    'an hourly pattern is due every 60 minutes through a repeated hour',
    ['0 * * * *', 'Europe/Berlin', '2026-10-24T23:30Z'],
    '2026-10-25T00:00Z 2026-10-25T01:00Z 2026-10-25T02:00Z',
  ],
  [
    'an hourly pattern is due every 60 minutes through a skipped hour',
    ['0 * * * *', 'Europe/Berlin', '2026-03-29T00:30Z'],
    '2026-03-29T01:00Z 2026-03-29T02:00Z',
  ],
  [
    'a skipped midnight is due right after the gap',
    ['0 0 * * *', 'Asia/Beirut', '2026-03-28T12:00Z'],
    '2026-03-28T22:00Z 2026-03-29T21:00Z',
  ],
  [
    'a daily pattern is due once a day when clocks change by half an hour',
    ['0 2 * * *', 'Australia/Lord_Howe', '2026-04-03T12:00Z'],
    '2026-04-03T15:00Z 2026-04-04T15:30Z 2026-04-05T15:30Z',
  ],
])('at a clock change: %s', (_what, [cron = '', timezone = '', after = ''], due) => {
  const moments = due.split(' ').map(at);
  expect(nextRuns({ cron, timezone }, at(after), moments.length)).toEqual(moments);
});

const ZONES = 'UTC Europe/Berlin America/New_York Asia/Beirut Australia/Lord_Howe America/Havana'.split(' ');

/** Days around which clocks change somewhere, in spring and autumn. */
const CHANGES = ['2026-03-08', '2026-03-28', '2026-04-04', '2026-10-03', '2026-10-24', '2026-11-01'].map(at);

const field = (last: number) =>
  fc.oneof(
    fc.constant('*'),
    fc.integer({ min: 0, max: last }).map(String),
    fc.integer({ min: 2, max: last }).map((step) => `*/${step}`),
    fc
      .uniqueArray(fc.integer({ min: 0, max: last }), { minLength: 2, maxLength: 3 })
      .map((list) => list.join(',')),
  );

const timings: fc.Arbitrary<Timing> = fc
  .record({ minute: field(59), hour: field(3), timezone: fc.constantFrom(...ZONES) })
  .map(({ minute, hour, timezone }) => ({ cron: `${minute} ${hour} * * *`, timezone }));

const moments = fc
  .tuple(fc.constantFrom(...CHANGES), fc.integer({ min: 0, max: 48 * 60 * 60 }))
  .map(([day, seconds]) => day + seconds * 1_000);

test('the next run becomes the last run as soon as its time has come', () => {
  fc.assert(
    fc.property(timings, moments, (timing, now) => {
      const [next = Number.NaN, afterNext = Number.NaN] = nextRuns(timing, now, 2);
      expect(next).toBeGreaterThan(now);
      expect(lastRun(timing, next)).toBe(next);
      expect(lastRun(timing, next + 999)).toBe(next);
      expect(lastRun(timing, afterNext - 1)).toBe(next);
      expect(nextRuns(timing, next, 1)).toEqual([afterNext]);
      // This holds for any earlier instant.
      expect(nextRuns(timing, next - 1, 1)).toEqual([next]);
    }),
    { numRuns: 100 },
  );
});

test('the last run is the latest one that is not in the future', () => {
  fc.assert(
    fc.property(timings, moments, (timing, now) => {
      const last = lastRun(timing, now) ?? Number.NaN;
      expect(last).toBeLessThanOrEqual(now);
      expect(nextRuns(timing, last, 1)[0]).toBeGreaterThan(now);
    }),
    { numRuns: 100 },
  );
});

test.each(ZONES)('a day of 23, 24 or 25 hours in %s has the runs of its pattern', (timezone) => {
  for (const day of CHANGES) {
    const runs = nextRuns({ cron: '0,30 2,15 * * *', timezone }, day, 40);
    const counts = new Map<string, number>();
    for (const run of runs) {
      const date = new Date(run).toLocaleDateString('en', { timeZone: timezone });
      counts.set(date, (counts.get(date) ?? 0) + 1);
    }
    // The first and the last day are incomplete.
    const whole = [...counts].slice(1, -1);
    // Two times within one gap are both due at its end, as one run.
    for (const [date, count] of whole) expect([3, 4], `${timezone} ${date}`).toContain(count);
    expect(whole.filter(([, count]) => count === 4).length).toBeGreaterThanOrEqual(whole.length - 1);
  }
});

test('the pattern of every minute has a run in every minute around each clock change', () => {
  const changes = ZONES.flatMap((timezone) => CHANGES.flatMap((day) => changeAfter(day, timezone)));
  expect(changes).toHaveLength(10);
  for (const { timezone, hour } of changes) {
    const from = hour - 60 * MINUTE_MS;
    const runs = nextRuns({ cron: '* * * * *', timezone }, from, 240);
    expect(runs.map((unixMs) => (unixMs - from) / MINUTE_MS)).toEqual(runs.map((_, i) => i + 1));
  }
});

/** The hour within the next two days in which the clocks of a zone change, if there is one. */
function changeAfter(day: number, timezone: string): { timezone: string; hour: number }[] {
  const offsetAt = (unixMs: number) =>
    at(`${new Date(unixMs).toLocaleString('sv', { timeZone: timezone }).replace(' ', 'T')}Z`) - unixMs;
  const hours = Array.from({ length: 48 }, (_, i) => day + i * 60 * MINUTE_MS);
  const hour = hours.find((one) => offsetAt(one) !== offsetAt(one + 60 * MINUTE_MS));
  return hour === undefined ? [] : [{ timezone, hour }];
}
