import { randomBytes } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { fuzz } from '../support/fuzz/fuzz.ts';
import { UNLIMITED } from '../support/fuzz/unlimited.ts';
import { openTarget } from '../support/target.ts';

// The short form of `npm run fuzz`.
const SEEDS = [17, 271_828];

test('answers mutated requests without a 5xx, a slow answer, a charge for a refusal or the end of a process', async () => {
  const { url, drop } = await createTestDatabase();
  const target = await openTarget({
    programs: inject('programs'),
    databaseUrl: url,
    redisUrl: inject('redisUrl'),
    redisNamespace: `fuzz-${randomBytes(4).toString('hex')}`,
    env: UNLIMITED,
  });
  try {
    const say = () => undefined;
    const options = { seeds: SEEDS, count: 350, clients: 12, timesBaseline: 5, say };
    const { answers, faults } = await fuzz(target, options);
    expect(faults.slice(0, 5)).toEqual([]);
    // A run whose requests are all refused, or all served, would prove nothing.
    for (const kind of ['api', 'page', 'mcp']) {
      expect(answers[kind]?.['200'], kind).toBeGreaterThan(10);
      expect(answers[kind]?.['400'], kind).toBeGreaterThan(10);
    }
  } finally {
    await target.close();
    await drop();
  }
});
