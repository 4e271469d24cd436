import { expect } from 'vitest';
import { openQueues } from '../../jobs/queues.ts';
import { createLogger } from '../../src/platform/log.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { holdProducts, newAsin } from '../support/answers.ts';
import { test } from '../support/souk-test.ts';

const pathOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;

/** Messages that a later version may send, or that no version sends. */
const UNKNOWN = [
  'no JSON',
  'null',
  '{}',
  '{"callId":"01a0","pool":"new-pool","state":"settled","unitsCharged":1,"error":null,"durationMs":1}',
  '{"callId":"01a0","pool":"market","state":"new-state","unitsCharged":1,"error":null,"durationMs":1}',
  '{"action":"new-action","callId":"01a0"}',
  '{"flight":1,"error":"new"}',
];

test('ignores messages it does not know, logging the first per channel', async ({ souk, redis, client }) => {
  const keys = redisKeys(souk.redisNamespace);
  const channels = [
    keys.jobsChannel,
    keys.controlChannel,
    keys.flightsChannel,
    keys.batchesChannel,
    keys.repliesChannel,
  ];
  for (const channel of channels) for (const message of UNKNOWN) await redis.publish(channel, message);
  expect((await client.get(pathOf(newAsin()))).status).toBe(200);
  const warnings = souk.logLines.filter((line) => line.includes('a message that this version does not know'));
  const [control, flights, jobs] = [keys.controlChannel, keys.flightsChannel, keys.jobsChannel].map(
    (channel) => warnings.filter((line) => line.includes(`"${channel}"`)).length,
  );
  // The gateway and the pool batch of the worker receive the ends of calls.
  expect({ control, flights, jobs }).toEqual({ control: 1, flights: 1, jobs: 2 });
});

test('reads a completion message with unknown fields', async ({ souk, redis, client, upstream }) => {
  const awaited = souk.events.next('call.awaited');
  const release = holdProducts(upstream);
  const reply = client.get(pathOf(newAsin()));
  const { callId } = await awaited;
  const error = {
    kind: 'NEW_KIND',
    message: 'A fault that only a later version knows.',
    metadata: { a: 1 },
    more: 1,
  };
  const message = {
    callId,
    pool: 'market',
    state: 'released',
    unitsCharged: 0,
    error,
    durationMs: 1,
    more: { a: 1 },
  };
  await redis.publish(redisKeys(souk.redisNamespace).jobsChannel, JSON.stringify(message));
  const { status, json } = await reply;
  expect([status, json.msg]).toEqual([500, error.message]);
  release();
});

test.for([
  ['of a later version', { version: 2, operation: 'market.product' }],
  ['of an operation that only a later version has', { version: 1, operation: 'market.later' }],
] as const)(
  'hands back a job %s until its deadline, and runs other jobs',
  async ([, fields], { souk, redis, client, onTestFinished }) => {
    const queues = openQueues(redis, redisKeys(souk.redisNamespace), createLogger('silent'));
    onTestFinished(() => queues.close());
    const callId = '01a203ef-7d9f-717e-9b5b-fc153a0df86c';
    const data = {
      ...fields,
      callId,
      accountId: 1,
      input: {},
      unitsReserved: 1,
      deadlineAt: souk.clock.now() + 1_000,
    };
    const job = await queues.of('market').add(fields.operation, data as never, { jobId: callId });
    await expect.poll(() => job.getState()).toBe('delayed');
    expect((await client.get(pathOf(newAsin()))).status).toBe(200);
    souk.clock.advance(2_000);
    await expect.poll(() => job.getState()).toBe('unknown');
  },
);
