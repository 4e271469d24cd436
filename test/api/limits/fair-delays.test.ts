import { expect, test } from 'vitest';
import { createFairDelays } from '../../../src/api/limits/fair-delays.ts';
import { TestClock } from '../../support/clock.ts';

function openDelays(most: number) {
  const clock = new TestClock();
  const delay = createFairDelays(clock, { most, name: 'delay' });
  const ended: string[] = [];
  return {
    clock,
    ended,
    delay: (client: string, name: string) => delay(client, 1_000, () => void ended.push(name)),
  };
}

test('ends each delay after its time', () => {
  const { clock, ended, delay } = openDelays(10);
  delay('flood', 'first');
  clock.advance(999);
  expect(ended).toEqual([]);
  clock.advance(1);
  expect(ended).toEqual(['first']);
});

test('ends the oldest delay of the client with the most delays if too many wait', () => {
  const { clock, ended, delay } = openDelays(3);
  delay('other', 'other');
  for (const name of ['first', 'second', 'third', 'fourth']) delay('flood', name);
  expect(ended).toEqual(['first', 'second']);
  delay('third client', 'late');
  expect(ended).toEqual(['first', 'second', 'third']);
  clock.advance(1_000);
  expect(ended.slice(3).sort()).toEqual(['fourth', 'late', 'other']);
  expect(clock.isWaiting).toBe(false);
});
