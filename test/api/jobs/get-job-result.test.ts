import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { redisKeys } from '../../../src/platform/redis-keys.ts';
import { drawsPictures, hasDeals, knowsEveryProduct, newAsin } from '../../support/answers.ts';
import type { Reply } from '../../support/client.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { stopWorkers } from '../../support/workers.ts';

const DAY_MS = 24 * 3_600_000;

let souk: Souk;
beforeAll(async () => {
  souk = await openSouk();
  const deals = Array.from({ length: 3_000 }, () => ({
    asin: newAsin(),
    title: 'A deal',
    dealState: 'AVAILABLE',
  }));
  souk.upstream.on('lightningdeal', hasDeals(deals));
  souk.upstream.on('graphimage', drawsPictures);
});
afterAll(() => souk.close());

/** Every process of the service ends, and others take their place. */
async function restart(): Promise<void> {
  await Promise.all(souk.gateways.splice(0).map((gateway) => gateway.close()));
  await stopWorkers(souk);
  await souk.addGateway();
  await souk.addWorker();
}

/** What of a reply is the answer. */
function answerOf({ status, body, headers }: Reply) {
  const { 'content-type': type, 'content-encoding': encoding } = headers;
  return { status, type, encoding, units: headers['x-units-consumed'], cache: headers['x-cache'], body };
}

const CASES: [string, () => string][] = [
  ['a small answer', () => `/api/market/product?domain=1&asins=${newAsin()},${newAsin()}`],
  ['a large one, compressed', () => '/api/market/lightningdeal?domain=1'],
  ['a picture', () => `/api/market/graphimage?domain=1&asin=${newAsin()}`],
];

test.each(CASES)(
  'the result of a job is what the synchronous call gives, after a restart of everything too: %s',
  async (_what, newPath) => {
    souk.upstream.on('product', knowsEveryProduct);
    const path = newPath();
    const headers = { 'accept-encoding': 'gzip' };
    const account = await souk.account();
    const accepted = await souk.clientOf(account.key).get(`${path}&async=1`);
    const result = `${accepted.headers.location}/result`;
    const first = answerOf(await souk.clientOf(account.key).get(`${result}?wait=30`, { headers }));
    expect(first).toMatchObject({ status: 200, cache: 'MISS' });
    const joined = answerOf(await souk.clientOf(account.key).get(path, { headers }));
    // It joins the job, so it costs nothing and nothing is fetched.
    expect(joined).toEqual({ ...first, units: '0', cache: 'HIT' });
    await restart();
    const asked = souk.upstream.calls.length;
    expect(answerOf(await souk.clientOf(account.key).get(result, { headers }))).toEqual(first);
    expect(souk.upstream.calls).toHaveLength(asked);
  },
);

test('a synchronous call of another account is given the same, but for where it comes from', async () => {
  souk.upstream.on('product', knowsEveryProduct);
  const path = `/api/market/product?domain=1&asins=${newAsin()}`;
  const [one, two] = [await souk.client(), await souk.client()];
  const { headers } = await one.get(`${path}&async=1`);
  const result = await one.get(`${headers.location}/result?wait=30`);
  const { json } = await two.get(path);
  expect(json).toEqual({ ...result.json, data: { ...result.json.data, fromCache: true } });
});

test.each(CASES)('for a day it is kept: %s', async (_what, newPath) => {
  souk.upstream.on('product', knowsEveryProduct);
  const client = await souk.client();
  const { headers } = await client.get(`${newPath()}&async=1`);
  await client.get(`${headers.location}?wait=30`);
  const redis = new Redis(souk.redisUrl);
  const name = redisKeys(souk.redisNamespace).callAnswer(headers['x-job-id'] ?? '');
  const held = (await redis.keys(`${name}*`)).filter((key) => !key.endsWith(':keep'));
  expect(held).not.toHaveLength(0);
  for (const key of held) expect(await redis.pttl(key)).toBeGreaterThan(DAY_MS - 600_000);
  redis.disconnect();
});

test('how a job failed is kept as long', async () => {
  souk.upstream.on('product', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
  const { key } = await souk.account();
  const accepted = await souk.clientOf(key).get(`/api/market/product?domain=1&asins=${newAsin()}&async=1`);
  const result = `${accepted.headers.location}/result`;
  const failed = await souk.clientOf(key).get(`${result}?wait=30`);
  expect([failed.status, failed.json.code]).toEqual([502, 'UPSTREAM_ERROR']);
  await restart();
  souk.clock.advance(DAY_MS);
  const later = await souk.clientOf(key).get(result);
  expect([later.status, later.json]).toEqual([502, failed.json]);
  souk.clock.advance(1);
  expect((await souk.clientOf(key).get(result)).json.code).toBe('JOB_NOT_FOUND');
});

test('a job that waits outlives a restart, and is done by whoever comes next', async () => {
  souk.upstream.on('product', knowsEveryProduct);
  await restart();
  await stopWorkers(souk);
  const { key } = await souk.account();
  const { headers } = await souk.clientOf(key).get(`/api/market/product?domain=1&asins=${newAsin()}&async=1`);
  await restart();
  const job = await souk.clientOf(key).get(`${headers.location}?wait=30`);
  expect(job.json.data).toMatchObject({ state: 'done', unitsCharged: 1 });
});
