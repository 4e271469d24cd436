import { expect, test } from 'vitest';
import { type Attempt, verdictOf } from '../../src/outbox/queue.ts';
import { HOUR_MS } from '../../src/platform/durations.ts';
import { RETRY_DELAYS_MS } from '../../src/platform/retry-delays.ts';

const NOW = Date.parse('2026-05-01T00:00:00Z');

const attempt = (error: string | null, isFinal = false): Attempt => ({
  status: null,
  error,
  isFinal,
  durationMs: 0,
  response: null,
});

test.each(['delivered', 'sent'] as const)('an accepted message is %s, after any retries', (state) => {
  for (const retries of [0, 3, RETRY_DELAYS_MS.length])
    expect(verdictOf({ accepted: state }, attempt(null), retries, NOW)).toEqual({
      state,
      nextAttemptAt: null,
    });
});

test('a message fails without a retry after a final refusal', () => {
  for (const retries of [0, 4])
    expect(verdictOf({ accepted: 'sent' }, attempt('Gone.', true), retries, NOW).state).toBe('failed');
});

test('delays never decrease, cover more than a day, and end with a failed message', () => {
  const pauses: number[] = [];
  let now = NOW;
  for (;;) {
    const { state, nextAttemptAt } = verdictOf(
      { accepted: 'delivered' },
      attempt('Down.'),
      pauses.length,
      now,
    );
    if (nextAttemptAt === null) {
      expect(state).toBe('failed');
      break;
    }
    pauses.push(nextAttemptAt.getTime() - now);
    now = nextAttemptAt.getTime();
  }
  expect(pauses.map((ms) => ms / 1000)).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]);
  expect(pauses).toEqual([...pauses].sort((a, b) => a - b));
  expect(now - NOW).toBeGreaterThan(24 * HOUR_MS);
});
