import { validate, version } from 'uuid';
import { expect, test } from 'vitest';
import { createIds, newId } from '../../src/platform/new-id.ts';

const COUNT = 20_000;

/** Returns the time of an id, in Unix milliseconds. */
const timeOf = (id: string) => Number.parseInt(id.replace('-', '').slice(0, 12), 16);

test('ids are different UUIDs of version 7 that sort by their creation', () => {
  const ids = Array.from({ length: COUNT }, newId);
  expect(ids.filter((id) => !validate(id) || version(id) !== 7)).toEqual([]);
  expect(new Set(ids).size).toBe(COUNT);
  expect([...ids].sort()).toEqual(ids);
});

test('an id has the time of its creation', () => {
  const at = Date.UTC(2100, 0);
  expect(timeOf(createIds(() => at)())).toBe(at);
});

test('ids sort behind earlier ones after the clock was set back', () => {
  let now = Date.UTC(2100, 0);
  const create = createIds(() => now);
  const before = create();
  now = Date.UTC(2099, 0);
  const ids = Array.from({ length: COUNT }, create);
  expect([before, ...ids].sort()).toEqual([before, ...ids]);
});
