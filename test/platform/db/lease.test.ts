import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { keepLease, withLease } from '../../../src/platform/db/lease.ts';
import { TestClock } from '../../support/clock.ts';
import { test as base } from '../../support/souk-test.ts';

/** A process that tries to do the same work as the others of its test. */
const test = base.extend('attempt', ({ database }) => {
  const clock = new TestClock();
  const lease = { name: randomUUID(), pauseMs: 4_000 };
  return { clock, run: (task: Parameters<typeof withLease>[3]) => withLease(database, clock, lease, task) };
});

test('runs in one of several processes that try at the same time', async ({ attempt }) => {
  let running = 0;
  let most = 0;
  const task = async () => {
    most = Math.max(most, ++running);
    await new Promise(setImmediate);
    running -= 1;
  };
  const ran = await Promise.all(Array.from({ length: 8 }, () => attempt.run(task)));
  expect(ran.filter(Boolean)).toHaveLength(1);
  expect(most).toBe(1);
});

test('runs again after the pause, in any process', async ({ attempt: { clock, run } }) => {
  const task = async () => {};
  expect(await run(task)).toBe(true);
  clock.advance(3_999);
  expect(await run(task)).toBe(false);
  clock.advance(1);
  expect(await run(task)).toBe(true);
});

test('a task that fails leaves the work to the next process immediately', async ({ attempt: { run } }) => {
  const broken = run(() => Promise.reject(new Error('Redis is down')));
  await expect(broken).rejects.toThrow('Redis is down');
  expect(await run(async () => {})).toBe(true);
});

test('another process takes over from one that was stopped, which then knows that it has lost the lease', async ({
  attempt: { clock, run },
}) => {
  let hasTakenOver = false;
  const ran = run(async (renew) => {
    clock.advance(14_999);
    expect(await renew()).toBe(true);
    clock.advance(14_999);
    expect(await run(async () => {})).toBe(false);
    clock.advance(1);
    hasTakenOver = await run(async () => {
      expect(await renew()).toBe(false);
    });
  });
  expect(await ran).toBe(true);
  expect(hasTakenOver).toBe(true);
});

test('a process that waits for a long statement keeps its lease', async ({ attempt: { clock, run } }) => {
  const others: boolean[] = [];
  await run((renew) => {
    let renewed = Promise.withResolvers<void>();
    const noted = async () => {
      const result = await renew();
      renewed.resolve();
      return result;
    };
    return keepLease(clock, noted, async () => {
      for (let passed = 0; passed < 30_000; passed += 5_000) {
        renewed = Promise.withResolvers();
        clock.advance(5_000);
        await renewed.promise;
        // The loop sets its next timer after the step.
        await new Promise(setImmediate);
        others.push(await run(async () => {}));
      }
    });
  });
  expect(others).toEqual(Array(6).fill(false));
});
