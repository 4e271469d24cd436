import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { openFaultyGateway } from '../support/fuzz/faulty-gateway.ts';
import { fuzz } from '../support/fuzz/fuzz.ts';
import { openTarget, type Target } from '../support/target.ts';
import { unlimited } from '../support/unlimited.ts';

// The short form of `npm run fuzz`.
const SEEDS = [17, 271_828];

const OPTIONS = { pages: 50, clients: 12, slowMs: 1_000, timesBaseline: 5, say: () => undefined };

let target: Target;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await createTestDatabase();
  drop = database.drop;
  target = await openTarget({
    programs: inject('programs'),
    databaseUrl: database.url,
    redisUrl: inject('redisUrl'),
    redisNamespace: `fuzz-${randomBytes(4).toString('hex')}`,
    env: unlimited(),
  });
});

afterAll(async () => {
  await target.close();
  await drop();
});

test('answers mutated requests without a 5xx, a slow answer, a charge for a refusal or the end of a process', async () => {
  const { answers, faults } = await fuzz(target, { ...OPTIONS, seeds: SEEDS, count: 150 });
  expect(faults.slice(0, 5)).toEqual([]);
  // A run whose requests are all refused, or all served, would prove nothing.
  for (const kind of ['api', 'page', 'mcp']) {
    expect(answers[kind]?.['200'], kind).toBeGreaterThan(5);
    expect(answers[kind]?.['400'], kind).toBeGreaterThan(5);
  }
});

test('finds a handler that throws, a slow answer and a charge for a refusal', async () => {
  const faulty = await openFaultyGateway(target.gateway, {
    throws: /^\/api\/(token|webhooks)/,
    sleeps: /^\/api\/jobs/,
    sleepMs: 6_000,
    charges: /^\/api\/market\/(product|category|seller)/,
  });
  const options = { ...OPTIONS, timesBaseline: 1, seeds: [19], count: 150 };
  const { faults } = await fuzz({ ...target, gateway: faulty.url }, options);
  await faulty.close();
  expect(new Set(faults.map(({ promise }) => promise))).toEqual(
    new Set(['answers no 5xx', 'answers in time', 'charges no units for a refusal']),
  );
});
