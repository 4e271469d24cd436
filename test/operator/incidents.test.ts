import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type FoundIncident,
  findIncidents,
  INCIDENT_RULES,
  outcomesOf,
} from '../../src/operator/status/incidents.ts';
import { componentsOf, daysOf, type Incident, statusOf } from '../../src/operator/status/read-status.ts';
import { rows } from '../support/words.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const START = Date.parse('2026-03-04T00:00:00Z');

/** Minutes by a letter each: `.` no calls, `o` ten good, `x` ten bad, `h` five of ten bad, `s` one of twenty bad, `1` one bad. */
const KINDS: Record<string, [good: number, bad: number]> = {
  '.': [0, 0],
  o: [10, 0],
  x: [0, 10],
  h: [5, 5],
  s: [19, 1],
  '1': [0, 1],
};

/** A letter in brackets is that of as many minutes as end an incident. */
function incidentsIn(text: string, open: FoundIncident | null = null) {
  const letters = text.replace(/\[(.)\]/g, (_all, letter: string) =>
    letter.repeat(INCIDENT_RULES.quietMinutes),
  );
  const minutes = Array.from(letters).flatMap((letter, i) => {
    const [good, bad] = KINDS[letter] ?? [0, 0];
    return good + bad === 0 ? [] : [{ minute: START + i * MINUTE_MS, good, bad }];
  });
  const to = START + letters.length * MINUTE_MS;
  return findIncidents(minutes, { from: START, to }, open).map(({ startedAt, endedAt, level, levelNow }) => {
    const at = (time: number | null) => (time === null ? null : (time - START) / MINUTE_MS);
    return [at(startedAt), at(endedAt), level, levelNow];
  });
}

test.each(
  rows(`
    no calls                                                   | ..........            |
    only good calls                                            | oooooooooo            |
    four failures and no other calls                           | 1111......            |
    five failures in five minutes                              | 11111                 | 0 now outage outage
    five failures, then ten minutes without calls              | 11111..........       | 0 5 outage operational
    a minute of failures among good ones                       | ooooox[o]             | 5 6 degraded operational
    half of the calls                                          | oohhhhhhhh[o]         | 2 10 outage operational
    failures that go on                                        | [o]xx                 | 10 now degraded degraded
    a twentieth of the calls, without an incident before       | ssssssssssssssssssss  |
    a twentieth of the calls, after an outage                  | xxxxx[s][s]           | 0 now outage operational
    two outages with nine quiet minutes between them           | xxoooooooooxx[o]      | 0 13 outage operational
    two outages with ten quiet minutes between them            | xx[o]xx[o]            | 0 2 outage operational, 12 14 degraded operational
  `),
)('finds the incidents of %s', (_, text = '', expected = '') => {
  const found = incidentsIn(text).map(([from, to, ...levels]) => [from, to ?? 'now', ...levels].join(' '));
  expect(found.join(', ')).toBe(expected);
});

test('continues an incident that had begun before the period, and ends it', () => {
  const open: FoundIncident = {
    startedAt: START - DAY_MS,
    endedAt: null,
    level: 'degraded',
    levelNow: 'degraded',
  };
  expect(incidentsIn('xx[o]', open)).toEqual([[-1_440, 2, 'outage', 'operational']]);
  expect(incidentsIn('oo', open)).toEqual([[-1_440, null, 'degraded', 'operational']]);
});

const days = fc
  .array(fc.constantFrom(...Object.keys(KINDS)), { minLength: 1, maxLength: 120 })
  .map((all) => all.join(''));

describe('incidents', () => {
  test('are in order, apart, at least a minute long, and only the last one is open', () => {
    fc.assert(
      fc.property(days, (text) => {
        const found = incidentsIn(text);
        found.forEach(([startedAt, endedAt], i) => {
          const next = found[i + 1];
          if (next)
            expect(Number(endedAt) + INCIDENT_RULES.quietMinutes).toBeLessThanOrEqual(Number(next[0]) + 5);
          if (endedAt !== null) expect(Number(endedAt) - Number(startedAt)).toBeGreaterThanOrEqual(1);
          expect(endedAt === null && i < found.length - 1).toBe(false);
        });
      }),
    );
  });

  test('cover every minute in which most of enough calls fail', () => {
    fc.assert(
      fc.property(days, (text) => {
        const found = incidentsIn(text);
        Array.from(text).forEach((letter, i) => {
          if (letter !== 'x') return;
          // Ten failures are at least a tenth of the sixty calls that five minutes can have.
          expect(found.some(([from, to]) => Number(from) <= i && i < Number(to ?? text.length))).toBe(true);
        });
      }),
    );
  });

  test('are the same when later minutes are found in a second step', () => {
    fc.assert(
      fc.property(days, days, (first, second) => {
        const whole = incidentsIn(first + second);
        const before = incidentsIn(first);
        // A closed incident does not change because of later minutes.
        for (const one of before) if (one[1] !== null) expect(whole).toContainEqual(one);
      }),
    );
  });
});

test.each([
  ['call.cached', {}, [['api', true]]],
  ['request.refused', { error: 'QUOTA_DAILY_EXCEEDED' }, [['api', true]]],
  ['request.refused', { error: 'BUSY' }, [['api', false]]],
  ['job.ended', { operation: 'market.product', error: null }, [['pool:market', true]]],
  ['job.ended', { operation: 'market.product', error: 'PRODUCT_NOT_FOUND' }, [['pool:market', true]]],
  ['job.ended', { operation: 'market.product', error: 'INTERNAL' }, []],
  ['call.released', { operation: 'market.product', error: 'INTERNAL' }, [['pool:market', false]]],
  ['call.released', { operation: 'market.product', error: 'CANCELLED' }, []],
  [
    'call.released',
    { operation: 'trends.interest-over-time', error: 'UPSTREAM_TIMEOUT' },
    [
      ['pool:trends', false],
      ['upstream:trends', false],
    ],
  ],
  ['source.miss', { operation: 'market.product' }, [['upstream:products', true]]],
  ['call.released', { operation: 'unknown', error: 'INTERNAL' }, []],
] as const)('reads from %s %o what it says about the components', (type, event, expected) => {
  const outcomes = outcomesOf({ type, ...event } as unknown as Parameters<typeof outcomesOf>[0]);
  expect(outcomes.map(({ component, isGood }) => [component, isGood])).toEqual(expected);
});

const NOW = START + DAY_MS / 2;
const incident = (from: number, to: number | null, more: Partial<Incident> = {}): Incident => ({
  id: 1,
  component: 'api',
  level: 'outage',
  levelNow: 'outage',
  notes: [],
  startedAt: START + from * MINUTE_MS,
  endedAt: to === null ? null : START + to * MINUTE_MS,
  ...more,
});

test('divides an incident among the days it is in', () => {
  const found = daysOf(
    [incident(-30, 10), incident(600, null, { level: 'degraded' })],
    START - 2 * DAY_MS,
    NOW,
  );
  expect(found).toHaveLength(90);
  expect(found.slice(-4)).toEqual([
    { day: '2026-03-01', level: null, degradedMinutes: 0, outageMinutes: 0 },
    { day: '2026-03-02', level: 'operational', degradedMinutes: 0, outageMinutes: 0 },
    { day: '2026-03-03', level: 'outage', degradedMinutes: 0, outageMinutes: 30 },
    { day: '2026-03-04', level: 'outage', degradedMinutes: 120, outageMinutes: 10 },
  ]);
});

test('the uptime is the share of time without an outage since the first call', () => {
  const facts = { incidents: [incident(0, 72)], measuredAt: NOW, since: NOW - DAY_MS };
  const [api, products] = componentsOf(facts, NOW);
  expect([api?.id, api?.level, api?.uptime]).toEqual(['api', 'operational', 0.95]);
  expect(products?.uptime).toBe(1);
});

test.each([
  ['of a minute ago is current', NOW - MINUTE_MS, NOW, 'operational', false],
  [
    'that workers have not measured for six minutes is the last known',
    NOW - 6 * MINUTE_MS,
    NOW,
    'operational',
    true,
  ],
  [
    'that could not be read for two minutes is an outage of the API',
    NOW,
    NOW - 2 * MINUTE_MS,
    'outage',
    true,
  ],
])('a status %s', (_, measuredAt, readAt, level, isLastKnown) => {
  const status = statusOf({ incidents: [], measuredAt, since: START }, readAt, NOW);
  expect([status.level, status.isLastKnown]).toEqual([level, isLastKnown]);
});
