import { expect } from 'vitest';
import { completionMessage } from '../../jobs/end-call.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { newAsin } from '../support/answers.ts';
import { batchNow, callsOf, isFinished, learnTokens, startBatch } from '../support/batches.ts';
import { listen } from '../support/events.ts';
import { parseExposition } from '../support/exposition.ts';
import type { Souk } from '../support/souk.ts';
import { testWithHeldProducts as test } from '../support/souk-test.ts';
import { loseRedis } from '../support/workers.ts';

// The clock of the service stands still, so nothing is found by looking it up again.
test.override('soukOptions', { gateways: 3, workers: 2 });

const pathOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;

/** How many completion messages each gateway has decoded. */
async function received({ gateways }: Souk): Promise<{ own: number; common: number }[]> {
  const texts = await Promise.all(gateways.map(({ registry }) => registry.metrics()));
  return texts.map((text) => {
    const { sum } = parseExposition(text);
    const on = (channel: string) => sum('souk_completions_received_total', { channel });
    return { own: on('own'), common: on('common') };
  });
}

/** Returns what each gateway has received since an earlier count, on all channels. */
async function receivedSince(souk: Souk, before: Awaited<ReturnType<typeof received>>): Promise<number[]> {
  const now = await received(souk);
  return now.map(({ own, common }, i) => own + common - (before[i]?.own ?? 0) - (before[i]?.common ?? 0));
}

/** Waits until some processes are registered for a call. */
async function registered(
  souk: Souk,
  redis: { scard(key: string): Promise<number> },
  callId: string,
  count = 1,
) {
  const key = redisKeys(souk.redisNamespace).waiting(callId);
  await expect.poll(() => redis.scard(key)).toBe(count);
}

test('the end of a call goes to the gateway that waits, no other', async ({ souk, client, release }) => {
  release();
  await learnTokens(souk);
  const before = await received(souk);
  const calls = Array.from({ length: 20 }, () => client.get(pathOf(newAsin())));
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => 200));
  expect(await receivedSince(souk, before)).toEqual([20, 0, 0]);
});

test('gateways that join, poll or stream a call get its end', async ({ souk, redis, account, release }) => {
  const before = await received(souk);
  const [first, second, third] = [0, 1, 2].map((gateway) => souk.clientOf(account.key, gateway));
  const path = pathOf(newAsin());
  const awaited = souk.events.next('call.awaited');
  const call = first?.get(path);
  const { callId } = await awaited;
  const joined = second?.get(path);
  const polled = third?.get(`/api/jobs/${callId}?wait=60`);
  const stream = second && (await listen(second, `/api/jobs/${callId}/events`));
  await registered(souk, redis, callId, 2);
  release();
  expect([(await call)?.status, (await joined)?.headers['x-deduplicated']]).toEqual([200, 'true']);
  expect((await polled)?.json.data.state).toBe('done');
  await stream?.ended;
  expect(stream?.events.at(-1)).toMatchObject({ name: 'end', data: { state: 'done' } });
  expect(await receivedSince(souk, before)).toEqual([1, 1, 1]);
  // Nothing of it is left.
  await registered(souk, redis, callId, 0);
});

test('a batch that joins the call of a gateway is collected when the call ends', async ({
  souk,
  redis,
  client,
  release,
}) => {
  const asin = newAsin();
  const awaited = souk.events.next('call.awaited');
  const call = client.get(`${pathOf(asin)}&history=0`);
  const { callId } = await awaited;
  const batch = await startBatch(client, callsOf([asin]));
  await registered(souk, redis, callId);
  release();
  expect((await call).status).toBe(200);
  await expect.poll(async () => isFinished(await batchNow(client, batch))).toBe(true);
});

test('the end of a cancelled call reaches the gateway that waits for it', async ({ souk, account }) => {
  const [waiting, cancelling] = [0, 1].map((gateway) => souk.clientOf(account.key, gateway));
  for (const worker of souk.workers.splice(0)) await worker.close();
  try {
    const awaited = souk.events.next('call.queued');
    const call = waiting?.get(pathOf(newAsin()));
    const { callId } = await awaited;
    const before = await received(souk);
    await cancelling?.get(`/api/jobs/${callId}`, { method: 'DELETE' });
    expect((await call)?.json.code).toBe('CANCELLED');
    expect(await receivedSince(souk, before)).toEqual([1, 0, 0]);
  } finally {
    for (let i = 0; i < 2; i += 1) await souk.addWorker();
  }
});

test('a request with a lost message is answered seconds later', async ({ souk, redis, account, release }) => {
  const [first, second] = [0, 1].map((gateway) => souk.clientOf(account.key, gateway));
  const path = pathOf(newAsin());
  const awaited = souk.events.next('call.awaited');
  const call = first?.get(path);
  const { callId } = await awaited;
  const joined = second?.get(path);
  await registered(souk, redis, callId);
  await loseRedis(souk, redisKeys(souk.redisNamespace).waiting(callId));
  release();
  expect((await call)?.status).toBe(200);
  souk.clock.advance(5_000);
  expect((await joined)?.status).toBe(200);
});

test('a message on the common channel, as of a job that was put back, answers a waiting call', async ({
  souk,
  redis,
  client,
}) => {
  const before = await received(souk);
  const awaited = souk.events.next('call.awaited');
  const call = client.get(pathOf(newAsin()));
  const { callId } = await awaited;
  const error = { kind: 'UPSTREAM_ERROR', message: 'The job was put back.' } as const;
  const message = completionMessage({ callId, pool: 'market', unitsCharged: 0, error });
  await redis.publish(redisKeys(souk.redisNamespace).jobsChannel, JSON.stringify(message));
  expect((await call).json.msg).toBe(error.message);
  await expect.poll(() => receivedSince(souk, before)).toEqual([1, 1, 1]);
});
