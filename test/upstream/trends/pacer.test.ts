import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { TokensAwaited } from '../../../src/upstream/token-bucket.ts';
import {
  createPacer,
  LONGEST_WAIT_MS,
  type Pacer,
} from '../../../src/upstream/trends/rate-limited-endpoint.ts';
import { TestClock } from '../../support/clock.ts';

const PACE = { intervalMs: 1000, burst: 3 };
const PAUSE = { firstMs: 10_000, longestMs: 60_000 };

let connections: Redis[];
let clock: TestClock;
/** The same endpoint as two processes see it. */
let one: Pacer;
let two: Pacer;

beforeAll(() => {
  connections = [new Redis(inject('redisUrl')), new Redis(inject('redisUrl'))];
});
afterAll(() => Promise.all(connections.map((redis) => redis.quit())));
beforeEach(() => {
  [one, two] = newPacers();
});

function newPacers(): [Pacer, Pacer] {
  clock = new TestClock();
  const key = `test-${randomBytes(6).toString('hex')}:pacing:{endpoint}`;
  return connections.map((redis) => createPacer(redis, key, PACE, clock)) as [Pacer, Pacer];
}

const context = () => ({
  signal: new AbortController().signal,
  deadlineAt: clock.now() + 3_600_000,
  background: false,
});

/** Returns how long a call waited, or the wait for which it was refused. */
async function waitOf(pacer: Pacer, deadlineAt?: number): Promise<number | { refused: number | undefined }> {
  const asked = clock.now();
  let answer: number | { refused: number | undefined } | null = null;
  const waiting = clock.countOf('upstream pacing');
  pacer.waitForSlot({ ...context(), ...(deadlineAt === undefined ? {} : { deadlineAt }) }).then(
    () => {
      answer = clock.now() - asked;
    },
    (error: { retryAfterMs?: number }) => {
      answer = { refused: error.retryAfterMs };
    },
  );
  const answered = () => {
    // Time passes only while the call waits for it.
    if (clock.countOf('upstream pacing') > waiting) clock.advance(1000);
    return answer !== null;
  };
  await expect.poll(answered, { interval: 1 }).toBe(true);
  if (answer === null) throw new Error('there is no answer');
  return answer;
}

test('sends a burst of calls immediately, then one in each interval over all processes', async () => {
  const waits = [];
  for (const pacer of [one, two, one, two, one]) waits.push(await waitOf(pacer));
  expect(waits).toEqual([0, 0, 0, 1000, 1000]);
});

test('allows a new burst after a pause, and never more than one burst', async () => {
  for (const pacer of [one, two, one]) await pacer.waitForSlot(context());
  clock.advance(2000);
  expect([await waitOf(one), await waitOf(two), await waitOf(one)]).toEqual([0, 0, 1000]);
  clock.advance(3_600_000);
  const waits = [];
  for (let i = 0; i < 4; i += 1) waits.push(await waitOf(one));
  expect(waits).toEqual([0, 0, 0, 1000]);
});

test('sends waiting calls one in each interval', async () => {
  for (let i = 0; i < 3; i += 1) await one.waitForSlot(context());
  const gone: number[] = [];
  const start = clock.now();
  for (const [i, pacer] of [one, two, one, two].entries()) {
    void pacer.waitForSlot(context()).then(() => gone.push(clock.now() - start));
    await clock.until('upstream pacing', i + 1);
  }
  for (let second = 1; second <= 4; second += 1) {
    clock.advance(1000);
    await expect.poll(() => gone).toHaveLength(second);
  }
  expect(gone).toEqual([1000, 2000, 3000, 4000]);
});

test('immediately refuses a call whose wait exceeds its deadline, and reserves no slot for it', async () => {
  for (let i = 0; i < 3; i += 1) await one.waitForSlot(context());
  expect(await waitOf(two, clock.now() + 500)).toEqual({ refused: 1000 });
  expect(await waitOf(two, clock.now() + 1000)).toBe(1000);
});

test('a background call does not wait, and reserves no slot', async () => {
  const background = () => one.waitForSlot({ ...context(), background: true });
  for (let i = 0; i < 3; i += 1) await background();
  await expect(background()).rejects.toEqual(new TokensAwaited(1000));
  await one.pause({ firstMs: LONGEST_WAIT_MS * 9, longestMs: LONGEST_WAIT_MS * 9 });
  await expect(background()).rejects.toEqual(new TokensAwaited(LONGEST_WAIT_MS * 9));
  clock.advance(LONGEST_WAIT_MS * 9);
  await background();
});

test('a pause applies to all processes, and calls follow it one in each interval', async () => {
  await one.pause(PAUSE);
  const start = clock.now();
  const gone: number[] = [];
  for (const [i, pacer] of [two, one].entries()) {
    void pacer.waitForSlot(context()).then(() => gone.push(clock.now() - start));
    await clock.until('upstream pacing', i + 1);
  }
  clock.advance(10_000);
  await expect.poll(() => gone).toEqual([10_000]);
  clock.advance(1000);
  await expect.poll(() => gone).toEqual([10_000, 11_000]);
});

test('a pause also delays a call that already waits for its slot', async () => {
  for (let i = 0; i < 3; i += 1) await one.waitForSlot(context());
  const start = clock.now();
  let gone: number | null = null;
  void two.waitForSlot(context()).then(() => {
    gone = clock.now() - start;
  });
  await clock.until('upstream pacing');
  await one.pause(PAUSE);
  clock.advance(1000);
  await clock.until('upstream pacing');
  expect(gone).toBeNull();
  clock.advance(9000);
  await expect.poll(() => gone).toBe(10_000);
});

test('each consecutive refusal doubles the pause up to a limit, and concurrent refusals count once', async () => {
  const lengths: number[] = [];
  for (let i = 0; i < 5; i += 1) {
    await Promise.all([one.pause(PAUSE), two.pause(PAUSE)]);
    const refused = await waitOf(one, clock.now());
    const length = (refused as { refused: number }).refused;
    lengths.push(length);
    clock.advance(length);
  }
  expect(lengths).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
  clock.advance(3_600_001);
  await one.pause(PAUSE);
  expect(await waitOf(one, clock.now())).toEqual({ refused: 10_000 });
});

test('refuses a call whose wait exceeds the longest wait', async () => {
  await one.pause({ firstMs: LONGEST_WAIT_MS + 1, longestMs: 60_000 });
  expect(await waitOf(one)).toEqual({ refused: LONGEST_WAIT_MS + 1 });
  clock.advance(1);
  expect(await waitOf(one)).toBe(LONGEST_WAIT_MS);
});

test('sends at most the burst plus one call for each interval in any period', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 2500 }), { minLength: 1, maxLength: 25 }),
      async (rests) => {
        [one, two] = newPacers();
        const gone: number[] = [];
        for (const rest of rests) {
          clock.advance(rest);
          const isSent = await one.waitForSlot({ ...context(), deadlineAt: clock.now() }).then(
            () => true,
            () => false,
          );
          if (isSent) gone.push(clock.now());
        }
        for (const [i, from] of gone.entries()) {
          for (const [k, to] of gone.slice(i).entries()) {
            expect(k + 1).toBeLessThanOrEqual(PACE.burst + Math.floor((to - from) / PACE.intervalMs));
          }
        }
      },
    ),
    { numRuns: 40 },
  );
});
