import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createTally } from '../../../src/platform/telemetry/tally.ts';
import { parseExposition } from '../../support/exposition.ts';

const read = async (registry: Registry) => parseExposition(await registry.metrics());

test('a metric returns the current counts at every read', async () => {
  const registry = new Registry();
  const tally = createTally(registry, { name: 'visits_total', help: 'Visits.', labels: ['place', 'day'] });
  tally('here', 'monday').value += 1;
  tally('there', 'monday').value += 2.5;
  tally('here', 'monday').value += 1;
  for (const _ of [1, 2]) {
    const { samples } = await read(registry);
    expect(samples).toEqual([
      { name: 'visits_total', labels: { place: 'here', day: 'monday' }, value: 2 },
      { name: 'visits_total', labels: { place: 'there', day: 'monday' }, value: 2.5 },
    ]);
  }
  tally('here', 'monday').value += 1;
  expect((await read(registry)).sum('visits_total', { place: 'here' })).toBe(3);
});

test('a metric without labels is 0 before the first count', async () => {
  const registry = new Registry();
  const cell = createTally(registry, { name: 'births_total', help: 'Births.', labels: [] })();
  expect((await read(registry)).samples).toEqual([{ name: 'births_total', labels: {}, value: 0 }]);
  cell.value += 4;
  expect((await read(registry)).sum('births_total')).toBe(4);
});

test('a label with any characters is read back unchanged', async () => {
  const registry = new Registry();
  const tally = createTally(registry, { name: 'odd_total', help: 'Odd.', labels: ['what'] });
  tally('a "quoted" back\\slash').value += 1;
  const { samples } = await read(registry);
  expect(samples[0]?.labels.what).toBe(String.raw`a \"quoted\" back\\slash`);
});
