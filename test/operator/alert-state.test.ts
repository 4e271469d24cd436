import { expect, test } from 'vitest';
import { type AlertState, nextState, WELL } from '../../src/operator/alerts/alert-state.ts';
import { rows } from '../support/words.ts';

const MINUTE_MS = 60_000;
const ALERT = { afterMinutes: 5 };

/**
 * Measures an alert once a minute, by a letter each: `.` all is well, `a` and `b` are what fulfils the condition, `-` it was not
 * measured. A number repeats the letter before.
 * @returns the messages with their minutes.
 */
function newsOf(letters: string, silencedUntil: number | null = null): string {
  const minutes = letters.replace(/(.)\{(\d+)\}/g, (_all, letter: string, times: string) =>
    letter.repeat(Number(times)),
  );
  let state: AlertState = { ...WELL, silencedUntil: silencedUntil && silencedUntil * MINUTE_MS };
  const news = Array.from(minutes).flatMap((letter, minute) => {
    if (letter === '-') return [];
    const lines =
      letter === '.' ? [] : Array.from(letter === 'c' ? 'ab' : letter, (name) => ({ name, text: 'bad' }));
    const next = nextState(state, ALERT, lines, minute * MINUTE_MS);
    ({ state } = next);
    return next.news === null ? [] : [`${minute} ${next.news}`];
  });
  return news.join(', ');
}

test.each(
  rows(`
    that always is well sends nothing                            | .{200}               |
    whose condition holds for four minutes sends nothing         | a{5}.{20}            |
    is notified when its condition has held for five minutes     | a{6}                 | 5 begun
    is notified once, and when it has been over for five minutes | a{20}.{20}           | 5 begun, 24 over
    that is well for four minutes and goes on is one alert       | a{10}.{4}a{10}.{10}  | 5 begun, 28 over
    that returns within an hour is notified again after an hour  | a{10}.{10}a{60}      | 5 begun, 14 over, 65 begun
    that returns for less than an hour is not notified again     | a{10}.{10}a{20}.{60} | 5 begun, 14 over
    about something else as well is notified again after an hour | a{30}c{60}           | 5 begun, 65 goes on
    that goes on is notified again after a day                   | a{1500}              | 5 begun, 1445 goes on
    that cannot be measured keeps its state                      | a{3}-{60}a{3}-{60}.{6} | 63 begun, 126 over
  `),
)('an alert %s', (_what, letters = '', news = '') => {
  expect(newsOf(letters)).toBe(news);
});

test('a silenced alert sends nothing, and is notified when the silence ends if it still fires', () => {
  expect(newsOf('a{100}', 60)).toBe('60 begun');
  expect(newsOf('a{50}.{50}', 60)).toBe('');
});

test('the end of an alert that was sent before its silence is not sent', () => {
  let state = nextState(
    { ...WELL, since: 0, seenAt: 0 },
    ALERT,
    [{ name: 'a', text: 'bad' }],
    6 * MINUTE_MS,
  ).state;
  expect(state.notified).toEqual(['a']);
  state = { ...state, silencedUntil: 60 * MINUTE_MS };
  expect(nextState(state, ALERT, [], 20 * MINUTE_MS)).toEqual({
    state: { ...WELL, notifiedAt: 6 * MINUTE_MS, silencedUntil: 60 * MINUTE_MS },
    news: null,
  });
});
