import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/platform/durations.ts';
import { billingOfFile } from '../support/billing.ts';
import { isInWindow } from '../support/wall-clock.ts';
import { rows } from '../support/words.ts';

const billing = await billingOfFile();

interface Question {
  at: number;
  start: string;
  end: string;
  zone: string;
}

const LONGEST_WAIT_MINUTES = 2 * 24 * 60 + 60;

async function nextOpenings(questions: readonly Question[]): Promise<(number | undefined)[]> {
  const { rows } = await billing.database.query<{ opening: Date | null }>(
    `select souk_next_window_start(q.at, q.s, q.e, q.zone) as opening
     from unnest($1::timestamptz[], $2::time[], $3::time[], $4::text[]) with ordinality as q (at, s, e, zone, nth)
     order by nth`,
    [
      questions.map(({ at }) => new Date(at)),
      questions.map(({ start }) => start),
      questions.map(({ end }) => end),
      questions.map(({ zone }) => zone),
    ],
  );
  return rows.map(({ opening }) => opening?.getTime());
}

/** Finds the opening by a check of every minute. */
function firstOpening({ at, start, end, zone }: Question): number | undefined {
  const inside = (minute: number) => isInWindow(minute * MINUTE_MS, { start, end, timezone: zone });
  const now = Math.floor(at / MINUTE_MS);
  for (let minute = now + 1; minute <= now + LONGEST_WAIT_MINUTES; minute += 1) {
    if (inside(minute) && !inside(minute - 1)) return minute * MINUTE_MS;
  }
  return undefined;
}

/** Changes of the clocks, of an hour and of half an hour, at night and at midnight. */
const CHANGES = [
  ['America/New_York', '2026-03-08T07:00Z'],
  ['America/New_York', '2026-11-01T06:00Z'],
  ['Europe/Berlin', '2026-03-29T01:00Z'],
  ['Europe/Berlin', '2026-10-25T01:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
  ['Pacific/Chatham', '2026-04-04T14:00Z'],
  ['America/Santiago', '2026-04-05T03:00Z'],
  ['America/Santiago', '2026-09-06T04:00Z'],
] as const;
const timeOfDay = (minute: number) =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
/** Most windows begin or end in the hours in which clocks are changed. */
const dailyTime = fc.oneof(
  fc.integer({ min: 0, max: 4 * 60 }),
  fc.integer({ min: 22 * 60, max: 1439 }),
  fc.integer({ min: 0, max: 1439 }),
);
const question: fc.Arbitrary<Question> = fc
  .record({
    change: fc.constantFrom(...CHANGES),
    offsetMs: fc.integer({ min: -86_400_000, max: 3 * 3_600_000 }),
    start: dailyTime,
    end: dailyTime,
  })
  .filter(({ start, end }) => start !== end)
  .map(({ change: [zone, change], offsetMs, start, end }) => ({
    at: Date.parse(change) + offsetMs,
    start: timeOfDay(start),
    end: timeOfDay(end),
    zone,
  }));

test('the next opening is the first moment inside the window, also in skipped and repeated hours', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(question, { minLength: 30, maxLength: 60 }), async (questions) => {
      expect(await nextOpenings(questions)).toEqual(questions.map(firstOpening));
    }),
    { numRuns: 8 },
  );
});

test.each(
  rows(`
  later today                                               | 2026-06-01T10:00Z | 19:00-07:00 | Asia/Shanghai | 2026-06-01T11:00Z
  a day later if the window has just opened                 | 2026-06-01T11:00Z | 19:00-07:00 | Asia/Shanghai | 2026-06-02T11:00Z
  an hour earlier in UTC after clocks go forward            | 2026-03-28T20:00Z | 20:00-23:00 | Europe/Berlin | 2026-03-29T18:00Z
  an hour later in UTC after clocks go back                 | 2026-10-24T20:00Z | 20:00-23:00 | Europe/Berlin | 2026-10-25T19:00Z
  at the clock change if the start is skipped               | 2026-03-29T00:00Z | 02:30-06:00 | Europe/Berlin | 2026-03-29T01:00Z
  a day later if the whole window is skipped                | 2026-03-29T00:00Z | 02:10-02:50 | Europe/Berlin | 2026-03-30T00:10Z
  the first occurrence of a start that occurs twice         | 2026-10-25T00:00Z | 02:30-06:00 | Europe/Berlin | 2026-10-25T00:30Z
  at the clock change if the end of the window occurs twice | 2026-10-25T00:40Z | 22:00-02:30 | Europe/Berlin | 2026-10-25T01:00Z
`),
)('the next opening is %s', async (_, at = '', window = '', zone = '', opening = '') => {
  const [start = '', end = ''] = window.split('-');
  expect(await nextOpenings([{ at: Date.parse(at), start, end, zone }])).toEqual([Date.parse(opening)]);
});
