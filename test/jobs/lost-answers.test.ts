import { expect } from 'vitest';
import { payloadOf } from '../../jobs/payload.ts';
import { addJob, openQueues } from '../../jobs/queues.ts';
import { findCall } from '../../src/billing/calls.ts';
import { createLogger } from '../../src/platform/log.ts';
import { closeRedis, connectRedis } from '../../src/platform/redis.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { holdProducts, knowsEveryProduct } from '../support/answers.ts';
import { openBackground } from '../support/background.ts';
import { expectBalancesOfLedger } from '../support/balances.ts';
import type { Client, Reply } from '../support/client.ts';
import { whileLocked } from '../support/locked-account.ts';
import type { Script } from '../support/scripted-upstream.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { PATIENCE } from '../support/time.ts';
import { unitsUsed } from '../support/units.ts';
import { loseRedis } from '../support/workers.ts';

const productOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;
const loseAnswers = (souk: Souk) => loseRedis(souk, `${souk.redisNamespace}:answer:*`);
const loseCaches = async (souk: Souk) => {
  await loseAnswers(souk);
  await loseRedis(souk, `${souk.redisNamespace}:source:*`);
};

/** Queues the job of a call again, as the queue does when a worker dies after it has settled the call. */
async function runAgain(souk: Souk, accountId: number, callId: string): Promise<void> {
  const log = createLogger('silent');
  const redis = await connectRedis(souk.redisUrl, 'submitting', log, PATIENCE);
  const queues = openQueues(redis, redisKeys(souk.redisNamespace), log);
  const call = await findCall(souk.database, accountId, callId);
  if (call) await addJob(queues, call.pool, payloadOf(call));
  await queues.close();
  await closeRedis(redis);
}

test('produces a paid answer that Redis lost again, at no charge', async ({ souk, client, upstream }) => {
  const first = await client.get(productOf('B0ANSWER01'));
  await loseCaches(souk);
  const again = await client.get(productOf('B0ANSWER01'));
  expect(again.status).toBe(200);
  expect(again.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
  expect(again.json).toEqual(first.json);
  expect(upstream.calls).toHaveLength(2);
  expect(await unitsUsed(client)).toBe(1);
});

test('makes a cached answer that was lost once, not per joined call', async ({ souk, client, upstream }) => {
  await (await souk.client()).get(productOf('B0ANSWER02'));
  const cached = await client.get(productOf('B0ANSWER02'));
  expect(cached.headers).toMatchObject({ 'x-cache': 'HIT', 'x-units-consumed': '1' });
  await loseCaches(souk);
  const again = await client.get(productOf('B0ANSWER02'));
  expect(again.json.data.products).toEqual(cached.json.data.products);
  await loseRedis(souk, `${souk.redisNamespace}:source:*`);
  const third = await client.get(productOf('B0ANSWER02'));
  expect(third.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
  expect(third.body).toEqual(again.body);
  expect(upstream.calls).toHaveLength(2);
  expect(await unitsUsed(client)).toBe(1);
});

test('produces the lost result of a job when a client polls it', async ({ souk, client }) => {
  const { headers } = await client.get(`${productOf('B0ANSWER03')}&async=1`);
  const result = `${headers.location}/result`;
  await client.get(`${headers.location}?wait=30`);
  const first = await client.get(result);
  await loseCaches(souk);
  souk.clock.advance(20 * 60_000);
  const again = await madeAgain(client, headers.location as string);
  expect(again.json.data.products).toEqual(first.json.data.products);
  expect(await unitsUsed(client)).toBe(1);
});

test('an async call that joins a cached answer keeps its result without it', async ({ souk, client }) => {
  await (await souk.client()).get(productOf('B0ANSWER04'));
  const cached = await client.get(productOf('B0ANSWER04'));
  const { headers } = await client.get(`${productOf('B0ANSWER04')}&async=1`);
  expect(headers['x-deduplicated']).toBe('true');
  // Deletes only shared answers: the keys that do not belong to this call.
  const shared = `${souk.redisNamespace}:answer:{????????????????????????????????}*`;
  expect(await loseRedis(souk, shared)).toBeGreaterThan(0);
  const result = await client.get(`${headers.location}/result`);
  expect(result.status).toBe(200);
  expect(result.body).toEqual(cached.body);
});

/** Polls the result of a job, which Redis has lost, until it has been made again. */
async function madeAgain(client: Client, job: string): Promise<Reply> {
  const { status, headers } = await client.get(`${job}/result`);
  expect([status, headers['retry-after']]).toEqual([202, '1']);
  await expect.poll(async () => (await client.get(`${job}/result`)).status).toBe(200);
  return client.get(`${job}/result`);
}

test('produces the lost result of a synchronous call that was answered with its job', async ({
  souk,
  client,
  upstream,
}) => {
  const release = holdProducts(upstream);
  const waiting = client.get(productOf('B0ANSWER09'), { headers: { prefer: 'wait=5' } });
  await upstream.received(1);
  souk.clock.advance(5_000);
  const { status, headers } = await waiting;
  expect(status).toBe(202);
  const settled = souk.events.next('call.settled');
  release();
  await settled;
  await loseCaches(souk);
  souk.clock.advance(20 * 60_000);
  const result = await madeAgain(client, headers.location as string);
  expect(result.json.data.products).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(1);
});

test('produces the lost result of a call whose account was locked when its request received the job', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const release = holdProducts(upstream);
  const waiting = client.get(productOf('B0ANSWER11'), { headers: { prefer: 'wait=5' } });
  await upstream.received(1);
  const reply = await whileLocked(souk.database, account, async () => {
    souk.clock.advance(5_000);
    return waiting;
  });
  expect(reply.status).toBe(202);
  const callId = reply.headers['x-job-id'] as string;
  await souk.clock.until('polled note');
  souk.clock.advance(500);
  await expect
    .poll(async () => (await findCall(souk.database, account.accountId, callId))?.polled)
    .toBe(true);
  const settled = souk.events.next('call.settled');
  release();
  await settled;
  await loseCaches(souk);
  souk.clock.advance(20 * 60_000);
  await madeAgain(client, reply.headers.location as string);
});

test('produces the lost result of an async call that joined a cached answer', async ({ souk, client }) => {
  await (await souk.client()).get(productOf('B0ANSWER10'));
  const cached = await client.get(productOf('B0ANSWER10'));
  const { headers } = await client.get(`${productOf('B0ANSWER10')}&async=1`);
  await loseCaches(souk);
  souk.clock.advance(20 * 60_000);
  const result = await madeAgain(client, headers.location as string);
  expect(result.json.data.products).toEqual(cached.json.data.products);
  expect(await unitsUsed(client)).toBe(1);
});

const refuses = () => ({ status: 400, json: { error: { type: 'invalidParameter' } } });

test('refunds a call whose lost answer cannot be made again, and tells the request that waits for it', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const first = await client.get(productOf('B0ANSWER05'));
  const job = `/api/jobs/${first.headers['x-job-id']}`;
  await loseCaches(souk);
  upstream.on('product', refuses);
  const again = await client.get(productOf('B0ANSWER05'));
  expect([again.status, again.headers['x-units-consumed']]).toEqual([502, '0']);
  expect(again.json.msg).toContain('its units are refunded');
  expect((await client.get(job)).json.data).toMatchObject({ state: 'failed', unitsCharged: 0 });
  expect((await client.get(`${job}/result`)).json).toMatchObject({
    code: again.json.code,
    msg: again.json.msg,
  });
  expect(await unitsUsed(client)).toBe(0);
  await expectBalancesOfLedger(souk, account.accountId);
  upstream.on('product', knowsEveryProduct);
  const third = await client.get(productOf('B0ANSWER05'));
  expect([third.status, third.headers['x-units-consumed']]).toEqual([200, '1']);
  expect(await unitsUsed(client)).toBe(1);
});

test('refunds a job whose lost answer cannot be made again, and its result is the error', async ({
  souk,
  client,
  upstream,
}) => {
  const { headers } = await client.get(`${productOf('B0ANSWER06')}&async=1`);
  const callId = headers['x-job-id'] as string;
  await client.get(`${headers.location}?wait=30`);
  await loseCaches(souk);
  upstream.on('product', refuses);
  expect((await client.get(`${headers.location}/result`)).status).toBe(202);
  await souk.events.until('call.refunded', { callId });
  expect((await client.get(`${headers.location}/result`)).status).toBe(502);
  expect(await unitsUsed(client)).toBe(0);
});

/** Rejects each request for this ASIN. */
const knowsAllBut =
  (unknown: string): Script =>
  (call, response) =>
    call.params.asin?.includes(unknown) ? refuses() : knowsEveryProduct(call, response);

test('refunds a job whose lost answer is made again without all of its products', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const { headers } = await client.get(`${productOf('B0ANSWER11,B0ANSWER12')}&async=1`);
  const callId = headers['x-job-id'] as string;
  await client.get(`${headers.location}?wait=30`);
  expect(await unitsUsed(client)).toBe(2);
  await loseAnswers(souk);
  await loseRedis(souk, `${souk.redisNamespace}:source:*`);
  upstream.on('product', knowsAllBut('B0ANSWER12'));
  expect((await client.get(`${headers.location}/result`)).status).toBe(202);
  await souk.events.until('call.refunded', { callId });
  // No caller could read an answer that lacks a charged product.
  expect(await loseRedis(souk, `${souk.redisNamespace}:answer:{${callId}}`)).toBe(0);
  const result = await client.get(`${headers.location}/result`);
  expect([result.status, result.headers['x-units-consumed']]).toEqual([502, '0']);
  expect(await unitsUsed(client)).toBe(0);
  await expectBalancesOfLedger(souk, account.accountId);
});

test('refunds a call that continued a partial answer, if its lost answer is made again without all that was paid', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const path = productOf('B0ANSWER13,B0ANSWER14,B0ANSWER15');
  upstream.on('product', knowsAllBut('B0ANSWER15'));
  expect((await client.get(path)).headers['x-units-consumed']).toBe('2');
  upstream.on('product', knowsEveryProduct);
  const { headers } = await client.get(`${path}&async=1`);
  const callId = headers['x-job-id'] as string;
  await client.get(`${headers.location}?wait=30`);
  expect(await unitsUsed(client)).toBe(3);
  await loseCaches(souk);
  upstream.on('product', knowsAllBut('B0ANSWER14'));
  expect((await client.get(`${headers.location}/result`)).status).toBe(202);
  await souk.events.until('call.refunded', { callId });
  expect((await client.get(`${headers.location}/result`)).status).toBe(502);
  expect(await unitsUsed(client)).toBe(2);
  await expectBalancesOfLedger(souk, account.accountId);
});

test('keeps the answer and the charge of a call if a later attempt of its job fails', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const first = await client.get(productOf('B0ANSWER07'));
  const callId = first.headers['x-job-id'] as string;
  await loseRedis(souk, `${souk.redisNamespace}:source:*`);
  upstream.on('product', refuses);
  const ended = souk.events.next('job.ended', { callId });
  await runAgain(souk, account.accountId, callId);
  expect(await ended).toMatchObject({ state: 'settled', error: null });
  const again = await client.get(productOf('B0ANSWER07'));
  expect([again.status, again.headers['x-units-consumed']]).toEqual([200, '0']);
  expect(await unitsUsed(client)).toBe(1);
});

test('keeps the answer and the charge of a call if a later attempt of its job finds fewer products', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const first = await client.get(productOf('B0ANSWER13,B0ANSWER14'));
  const callId = first.headers['x-job-id'] as string;
  await loseRedis(souk, `${souk.redisNamespace}:source:*`);
  upstream.on('product', knowsAllBut('B0ANSWER14'));
  const ended = souk.events.next('job.ended', { callId });
  await runAgain(souk, account.accountId, callId);
  expect(await ended).toMatchObject({ state: 'settled', error: null });
  const again = await client.get(productOf('B0ANSWER13,B0ANSWER14'));
  expect([again.status, again.headers['x-units-consumed']]).toEqual([200, '0']);
  expect(again.json.data.products).toEqual(first.json.data.products);
  expect(await unitsUsed(client)).toBe(2);
});

test('does not make the lost answer of a batch call again for a client that knows its job', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const background = await openBackground(souk);
  const callId = await background.submit(account, { domain: '1', asins: 'B0ANSWER08' });
  await souk.events.until('call.settled', { callId });
  await background.close();
  await loseCaches(souk);
  souk.clock.advance(6 * 60_000);
  const result = await client.get(`/api/jobs/${callId}/result`);
  expect([result.status, result.json.code]).toEqual([410, 'RESULT_EXPIRED']);
  expect(upstream.calls).toHaveLength(1);
});
