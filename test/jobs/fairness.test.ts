import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BACKGROUND_PRIORITY, type CallGroup, createFairness } from '../../jobs/queues.ts';
import { TestClock } from '../support/clock.ts';

const PATIENT_MS = 60_000;

let lastCall = 0;

/** Creates the fairness of one gateway, with defaults for fields that a test does not set. */
function openFairness() {
  const clock = new TestClock();
  const fairness = createFairness(clock.now);
  const defaults = { pool: 'market', waiting: 'poller' } as const;
  return {
    clock,
    fairness,
    take(
      accountId: number,
      group: Partial<CallGroup> & { key?: string } = {},
    ): { callId: string; priority: number } {
      lastCall += 1;
      const callId = `call-${lastCall}`;
      const deadlineAt = clock.now() + PATIENT_MS;
      const key = `key of ${accountId}`;
      const priority = fairness.take({ ...defaults, key, ...group, accountId, callId, deadlineAt });
      return { callId, priority };
    },
    peek: (accountId: number, group: Partial<CallGroup> & { key?: string } = {}) =>
      fairness.peek({ ...defaults, key: `key of ${accountId}`, ...group }),
  };
}

test('the first four calls of an account have the highest priority, and each further one a lower priority', () => {
  const { take } = openFairness();
  const priorities = Array.from({ length: 7 }, () => take(1).priority);
  expect(priorities).toEqual([0, 0, 0, 0, 5, 6, 7]);
});

test('ten thousand calls have higher priorities than calls of batches', () => {
  const { take } = openFairness();
  let last = 0;
  for (let i = 0; i < 10_000; i += 1) last = take(1).priority;
  expect(last).toBeGreaterThan(9_000);
  expect(last).toBeLessThan(BACKGROUND_PRIORITY);
});

test('ended calls free their priorities', () => {
  const { take, fairness } = openFairness();
  const calls = Array.from({ length: 6 }, () => take(1));
  expect(take(1).priority).toBe(7);
  for (const { callId } of calls) fairness.end(callId);
  // One is left.
  expect([take(1), take(1), take(1), take(1)].map(({ priority }) => priority)).toEqual([0, 0, 0, 5]);
});

test('a call that ends twice frees one priority, and an unknown call none', () => {
  const { take, peek, fairness } = openFairness();
  const calls = Array.from({ length: 8 }, () => take(1));
  for (const callId of [calls[0]?.callId ?? '', calls[0]?.callId ?? '', 'unheard of']) fairness.end(callId);
  expect(peek(1)).toBe(8);
});

test('a call that is queued again keeps its priority', () => {
  const { take, peek, fairness, clock } = openFairness();
  for (let i = 0; i < 4; i += 1) take(1);
  const again = {
    pool: 'market',
    waiting: 'poller',
    accountId: 1,
    key: 'key of 1',
    callId: 'the same',
    deadlineAt: clock.now() + PATIENT_MS,
  } as const;
  expect([fairness.take(again), fairness.take(again)]).toEqual([5, 5]);
  expect(peek(1)).toBe(6);
});

test('two keys of one account share its count', () => {
  const { take, peek } = openFairness();
  for (let i = 0; i < 4; i += 1) take(1, { key: 'one' });
  expect(take(1, { key: 'another' }).priority).toBe(5);
  expect(peek(1, { key: 'one' })).toBe(6);
});

test.each<[string, Partial<CallGroup>]>([
  ['another pool', { pool: 'graph' }],
  ['interactive requests', { waiting: 'caller' }],
])('calls of %s are counted separately', (_what, group) => {
  const { take } = openFairness();
  for (let i = 0; i < 40; i += 1) take(1);
  expect(take(1, group).priority).toBe(0);
});

test('calls without a completion message are removed after their deadline', () => {
  const { take, peek, clock } = openFairness();
  for (let i = 0; i < 500; i += 1) take(1);
  clock.advance(PATIENT_MS + 1);
  expect(peek(1)).toBe(501);
  // Expired calls are removed only from time to time.
  for (let i = 0; i < 1_000; i += 1) take(2);
  expect(peek(1)).toBe(0);
  expect(peek(2)).toBe(1_001);
});

type Step = { take: number } | { end: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ end: fc.nat(60) }) },
);

test('an account with fewer calls under way never has a lower priority than an account with more', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const { take, peek, fairness } = openFairness();
      const open: { accountId: number; callId: string }[] = [];
      const underWay = (accountId: number) => open.filter((call) => call.accountId === accountId).length;
      for (const action of steps) {
        if ('take' in action) {
          open.push({ accountId: action.take, callId: take(action.take).callId });
        } else {
          const [ended] = open.splice(action.end % Math.max(1, open.length), 1);
          if (ended) fairness.end(ended.callId);
        }
        const standing = [1, 2, 3]
          .map((accountId) => ({ calls: underWay(accountId), priority: peek(accountId) }))
          .sort((a, b) => a.calls - b.calls || a.priority - b.priority);
        standing.reduce((fewer, more) => {
          expect(fewer.priority).toBeLessThanOrEqual(more.priority);
          return more;
        });
      }
    }),
    { numRuns: 300 },
  );
});
