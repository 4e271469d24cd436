import { expect, test } from 'vitest';
import { RETRY_DELAYS_MS } from '../../src/platform/retry-delays.ts';
import { verdictOf } from '../../src/webhooks/retry-schedule.ts';

const NOW = Date.parse('2026-05-01T00:00:00Z');
const HOUR_MS = 3_600_000;

test.each([200, 201, 202, 204, 299])('status %d is a delivery, after any number of retries', (status) => {
  for (const retries of [0, 3, RETRY_DELAYS_MS.length]) {
    expect(verdictOf(status, retries, NOW)).toEqual({ state: 'delivered' });
  }
});

test.each([null, 100, 199, 300, 301, 308, 400, 401, 404, 409, 429, 500, 503])(
  'status %s is followed by a retry',
  (status) => {
    expect(verdictOf(status, 0, NOW)).toEqual({ state: 'pending', nextAttemptAt: NOW + 5_000 });
  },
);

test('status 410 fails the delivery without a retry', () => {
  for (const retries of [0, 4]) expect(verdictOf(410, retries, NOW)).toEqual({ state: 'failed' });
});

test('delays never decrease, cover more than a day, and end with a failed delivery', () => {
  const pauses: number[] = [];
  let now = NOW;
  for (;;) {
    const verdict = verdictOf(500, pauses.length, now);
    if (verdict.state !== 'pending') {
      expect(verdict).toEqual({ state: 'failed' });
      break;
    }
    pauses.push(verdict.nextAttemptAt - now);
    now = verdict.nextAttemptAt;
  }
  expect(pauses.map((ms) => ms / 1000)).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]);
  expect(pauses).toEqual([...pauses].sort((a, b) => a - b));
  expect(now - NOW).toBeGreaterThan(24 * HOUR_MS);
});
