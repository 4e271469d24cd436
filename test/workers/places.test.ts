import { expect, test } from 'vitest';
import { createPlaces } from '../../workers/places.ts';

const [one, two, three] = [{ name: 'one' }, { name: 'two' }, { name: 'three' }];

test('gives released places to the workers that wait, in the order of their arrival', async () => {
  const places = createPlaces(1);
  const order: string[] = [];
  const note = (worker: { name: string }) => places.take(worker).then(() => order.push(worker.name));
  const takes = [note(one), note(two), note(three)];
  await takes[0];
  expect(order).toEqual(['one']);
  places.release();
  await takes[1];
  places.release();
  await takes[2];
  expect(order).toEqual(['one', 'two', 'three']);
});

test('has no free place while workers wait, also after a release', async () => {
  const places = createPlaces(2);
  expect([places.tryTake(), places.tryTake(), places.tryTake()]).toEqual([true, true, false]);
  const taken = places.take(one);
  places.release();
  expect(places.tryTake()).toBe(false);
  expect(await taken).toBe(true);
  places.release();
  expect(places.tryTake()).toBe(true);
});

test('a worker sees that others wait, and not that it waits itself', async () => {
  const places = createPlaces(1);
  places.tryTake();
  const own = places.take(one);
  expect([places.isWantedByOthers(one), places.isWantedByOthers(two)]).toEqual([false, true]);
  const others = places.take(two);
  expect(places.isWantedByOthers(one)).toBe(true);
  places.release();
  places.release();
  expect(await Promise.all([own, others])).toEqual([true, true]);
  expect(places.isWantedByOthers(three)).toBe(false);
});

test('a worker that leaves gets no place, and keeps none from the next', async () => {
  const places = createPlaces(1);
  places.tryTake();
  const [left, next] = [places.take(one), places.take(two)];
  places.leave(one);
  expect(await left).toBe(false);
  places.release();
  expect(await next).toBe(true);
  places.leave(three);
  places.release();
  expect(places.tryTake()).toBe(true);
});
