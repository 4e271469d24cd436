import { Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createDurations } from '../../../src/platform/telemetry/durations.ts';

const ABOUT = { name: 'visit_seconds', help: 'Durations of visits.' };
const SECONDS = [0.01, 0.1, 1];

test('durations are shown as those of a histogram of prom-client, at every read', async () => {
  const [registry, expected] = [new Registry(), new Registry()];
  const add = createDurations(registry, { ...ABOUT, label: 'place', seconds: SECONDS });
  const histogram = new Histogram({
    ...ABOUT,
    labelNames: ['place'],
    buckets: SECONDS,
    registers: [expected],
  });
  const durations = [0, 0.01, 0.0100001, 0.5, 1, 1.5, 60];
  for (const seconds of durations) {
    for (const place of seconds === 0.5 ? ['here'] : ['here', 'there "and" back']) {
      add(place, seconds);
      histogram.observe({ place }, seconds);
    }
    expect(await registry.metrics()).toBe(await expected.metrics());
  }
  expect(await registry.metrics()).toContain('visit_seconds_count{place="here"} 7');
});

test('durations without an observation show no values', async () => {
  const registry = new Registry();
  createDurations(registry, { ...ABOUT, label: 'place', seconds: SECONDS });
  expect(await registry.metrics()).toBe(
    '# HELP visit_seconds Durations of visits.\n# TYPE visit_seconds histogram\n',
  );
});
