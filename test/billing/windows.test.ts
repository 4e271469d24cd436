import fc from 'fast-check';
import { expect, test } from 'vitest';
import { billingOfFile } from '../support/billing.ts';
import { isInWindow } from '../support/wall-clock.ts';
import { words } from '../support/words.ts';

const billing = await billingOfFile();

const ZONES = words(`
  UTC Asia/Shanghai Asia/Kolkata Europe/Berlin America/New_York America/Sao_Paulo Australia/Lord_Howe
  Pacific/Chatham
`);

interface Question {
  at: number;
  start: string;
  end: string;
  zone: string;
}

async function inWindow(questions: readonly Question[]): Promise<boolean[]> {
  const { rows } = await billing.database.query<{ inside: boolean }>(
    `select souk_in_window(q.at, q.s, q.e, q.zone) as inside
     from unnest($1::timestamptz[], $2::time[], $3::time[], $4::text[]) with ordinality as q (at, s, e, zone, nth)
     order by nth`,
    [
      questions.map(({ at }) => new Date(at)),
      questions.map(({ start }) => start),
      questions.map(({ end }) => end),
      questions.map(({ zone }) => zone),
    ],
  );
  return rows.map(({ inside }) => inside);
}

const dailyTime = fc
  .integer({ min: 0, max: 1439 })
  .map(
    (minute) => `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`,
  );

/** Instants of some years, many of them within a day of a change of the clocks of 2026. */
const CHANGES = [
  '2026-03-08T07:00Z',
  '2026-03-29T01:00Z',
  '2026-04-04T15:00Z',
  '2026-10-25T01:00Z',
  '2026-11-01T06:00Z',
];
const instant = fc.oneof(
  fc.integer({ min: Date.parse('2024-01-01'), max: Date.parse('2029-12-31') }),
  fc
    .tuple(fc.constantFrom(...CHANGES), fc.integer({ min: -86_400_000, max: 86_400_000 }))
    .map(([change, offset]) => Date.parse(change) + offset),
);

test('a window follows the wall clock of its time zone, also around daylight saving changes', async () => {
  const question = fc.record({
    at: instant,
    start: dailyTime,
    end: dailyTime,
    zone: fc.constantFrom(...ZONES),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(question, { minLength: 50, maxLength: 200 }), async (questions) => {
      const valid = questions.filter(({ start, end }) => start !== end);
      expect(await inWindow(valid)).toEqual(
        valid.map(({ at, start, end, zone }) => isInWindow(at, { start, end, timezone: zone })),
      );
    }),
    { numRuns: 40 },
  );
});

test.each([
  ['includes its first moment', '2026-06-01T11:00:00.000Z', true],
  ['excludes the last millisecond before it', '2026-06-01T10:59:59.999Z', false],
  ['includes midnight', '2026-06-01T16:00:00.000Z', true],
  ['excludes its end', '2026-06-01T23:00:00.000Z', false],
  ['includes its last millisecond', '2026-06-01T22:59:59.999Z', true],
])('a window from 19:00 to 07:00 in Shanghai %s', async (_, at, inside) => {
  const window = { start: '19:00', end: '07:00', zone: 'Asia/Shanghai' };
  expect(await inWindow([{ at: Date.parse(at), ...window }])).toEqual([inside]);
});
