import { describe, expect } from 'vitest';
import { DAY_MS } from '../../../src/platform/durations.ts';
import type { Redis } from '../../../src/platform/redis.ts';
import { redisKeys } from '../../../src/platform/redis-keys.ts';
import { drawsPictures, hasDeals, newAsin } from '../../support/answers.ts';
import type { Client, Reply } from '../../support/client.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { stopWorkers } from '../../support/workers.ts';

const GZIP = { headers: { 'accept-encoding': 'gzip' } };
test.beforeAll(async ({ souk }) => {
  const deals = Array.from({ length: 3_000 }, () => ({
    asin: newAsin(),
    title: 'A deal',
    dealState: 'AVAILABLE',
  }));
  souk.upstream.on('lightningdeal', hasDeals(deals));
  souk.upstream.on('graphimage', drawsPictures);
});

/** Replaces every process of the service. */
async function restart(souk: Souk): Promise<void> {
  await Promise.all(souk.gateways.splice(0).map((gateway) => gateway.close()));
  await stopWorkers(souk);
  await souk.addGateway();
  await souk.addWorker();
}

/** The parts of a reply that belong to the answer. */
function answerOf({ status, body, headers }: Reply) {
  const { 'content-type': type, 'content-encoding': encoding } = headers;
  return { status, type, encoding, units: headers['x-units-consumed'], cache: headers['x-cache'], body };
}

const CASES: [string, () => string][] = [
  ['a small answer', () => `/api/market/product?domain=1&asins=${newAsin()},${newAsin()}`],
  ['a large one, compressed', () => '/api/market/lightningdeal?domain=1'],
  ['a picture', () => `/api/market/graphimage?domain=1&asin=${newAsin()}`],
];

/** The keys of answers and their bodies. */
function answersIn(redis: Redis, { redisNamespace }: Souk): Promise<string[]> {
  return redis.keys(`${redisNamespace}:answer:*`);
}

/** Submits a call as a job and waits for its result. */
async function resultOf(client: Client, path: string) {
  const { headers } = await client.get(`${path}&async=1`);
  const address = `${headers.location}/result`;
  return { address, first: await client.get(`${address}?wait=30`, GZIP) };
}

test.for(CASES)('returns what the synchronous call returns: %s', async ([_what, newPath], { client }) => {
  const path = newPath();
  const first = answerOf((await resultOf(client, path)).first);
  expect(first).toMatchObject({ status: 200, cache: 'MISS' });
  // The synchronous call joins the job, so it is free and fetches nothing.
  const joined = answerOf(await client.get(path, GZIP));
  expect(joined).toEqual({ ...first, units: '0', cache: 'HIT' });
});

test('returns the result for an id in upper case, also by a link, and fetches nothing', async ({
  client,
  upstream,
}) => {
  const { headers } = await client.get(`/api/market/product?domain=1&asins=${newAsin()}&async=1`);
  const id = String(headers['x-job-id']);
  const address = `/api/jobs/${id.toUpperCase()}/result`;
  const first = await client.get(`${address}?wait=30`);
  expect([first.status, first.headers['x-job-id']]).toEqual([200, id]);
  const link = await client.post('/api/links', { target: 'job', id: id.toUpperCase() });
  expect([link.status, link.json.data.targetId]).toEqual([201, id]);
  expect(upstream.calls).toHaveLength(1);
});

test('keeps results and errors when all processes restart', async ({ souk, account, client, upstream }) => {
  const before = [];
  for (const [, newPath] of CASES) before.push(await resultOf(client, newPath()));
  upstream.on('product', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
  const failed = await resultOf(client, `/api/market/product?domain=1&asins=${newAsin()}`);
  expect([failed.first.status, failed.first.json.code]).toEqual([502, 'UPSTREAM_ERROR']);
  await restart(souk);
  const asked = upstream.calls.length;
  const after = souk.clientOf(account.key);
  for (const { address, first } of [...before, failed])
    expect(answerOf(await after.get(address, GZIP))).toEqual(answerOf(first));
  expect(upstream.calls).toHaveLength(asked);
});

test.for(CASES)('keeps a result for a day: %s', async ([_what, newPath], { souk, client, redis }) => {
  const { headers } = await client.get(`${newPath()}&async=1`);
  await client.get(`${headers.location}?wait=30`);
  const name = redisKeys(souk.redisNamespace).callAnswer(headers['x-job-id'] ?? '');
  const held = (await redis.keys(`${name}*`)).filter((key) => !key.endsWith(':keep'));
  expect(held).not.toHaveLength(0);
  for (const key of held) expect(await redis.pttl(key)).toBeGreaterThan(DAY_MS - 600_000);
});

test('keeps results of directly answered calls for a day', async ({ souk, client, account, redis }) => {
  const path = `/api/market/product?domain=1&asins=${newAsin()}`;
  const { headers } = await client.get(path);
  const name = redisKeys(souk.redisNamespace).callAnswer(headers['x-job-id'] ?? '');
  expect(await redis.pttl(name)).toBeGreaterThan(DAY_MS - 600_000);
  // Another account gets the answer from the cache, and reads it when it is not fresh any more.
  const other = await souk.client();
  const cached = await other.get(path);
  const kept = async () =>
    Math.max(...(await Promise.all((await answersIn(redis, souk)).map((key) => redis.pttl(key)))));
  await expect.poll(kept).toBeGreaterThan(DAY_MS);
  souk.clock.advance(DAY_MS - 60_000);
  const [own, shared] = await Promise.all([
    souk.clientOf(account.key).get(`/api/jobs/${headers['x-job-id']}/result`),
    other.get(`/api/jobs/${cached.headers['x-job-id']}/result`),
  ]);
  expect([own.status, shared.status]).toEqual([200, 200]);
  expect(shared.json).toEqual(cached.json);
});

test('names the call and its price if its result has expired, and the call can be made again with them', async ({
  souk,
  client,
  redis,
}) => {
  const asins = [newAsin(), newAsin()];
  const path = `/api/market/product?domain=1&asins=${asins.join()}`;
  const { headers } = await client.get(path);
  await redis.del(...(await answersIn(redis, souk)));
  souk.clock.advance(6 * 60_000);
  const expired = await client.get(`/api/jobs/${headers['x-job-id']}/result`);
  expect([expired.status, expired.json.code]).toEqual([410, 'RESULT_EXPIRED']);
  const { operation, params, units } = expired.json.metadata as Record<string, unknown>;
  expect([operation, units]).toEqual(['market.product', 2]);
  expect(expired.json.msg).toContain('for 2 units');
  const again = await client.post('/api/jobs', { operation, params, maxUnits: units });
  const result = await client.get(`${again.headers.location}/result?wait=30`);
  expect(result.json.data).toMatchObject({ products: asins.map((asin) => ({ asin })) });

  // The parameters of a call that was answered from the cache are not stored.
  const other = await souk.client();
  const cached = await other.get(path);
  await redis.del(...(await answersIn(redis, souk)));
  souk.clock.advance(6 * 60_000);
  const unknown = await other.get(`/api/jobs/${cached.headers['x-job-id']}/result`);
  expect([unknown.status, unknown.json.code]).toEqual([410, 'RESULT_EXPIRED']);
  expect(unknown.json.metadata).toMatchObject({ operation: 'market.product', params: null, units: null });
});

test('names parameters that can be sent again for an expired table', async ({ souk, client, redis }) => {
  const asin = newAsin();
  const { headers } = await client.get(`/api/market/product?domain=1&asins=${asin}&format=csv`);
  await redis.del(...(await answersIn(redis, souk)));
  souk.clock.advance(6 * 60_000);
  const expired = await client.get(`/api/jobs/${headers['x-job-id']}/result`);
  const { operation, params, units } = expired.json.metadata as Record<string, unknown>;
  const again = await client.post('/api/jobs', { operation, params, maxUnits: units });
  expect(again.status).toBe(202);
});

test('keeps the error of a failed job for a week', async ({ souk, client, upstream }) => {
  upstream.on('product', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
  const { address, first } = await resultOf(client, `/api/market/product?domain=1&asins=${newAsin()}`);
  souk.clock.advance(7 * DAY_MS);
  const later = await client.get(address);
  expect([later.status, later.json]).toEqual([502, first.json]);
  souk.clock.advance(1);
  expect((await client.get(address)).json.code).toBe('JOB_NOT_FOUND');
});

test('a queued job survives a restart: the next worker runs it', async ({ souk, account, upstream: _ }) => {
  // The clock skipped the reports of the earlier workers, so the gateways treat them as gone.
  await restart(souk);
  await stopWorkers(souk);
  const { headers } = await souk
    .clientOf(account.key)
    .get(`/api/market/product?domain=1&asins=${newAsin()}&async=1`);
  await restart(souk);
  const job = await souk.clientOf(account.key).get(`${headers.location}?wait=30`);
  expect(job.json.data).toMatchObject({ state: 'done', unitsCharged: 1 });
});

describe('a table of the answer of a job', () => {
  const CALL = () => `/api/market/product?domain=1&asins=${newAsin()},${newAsin()}&detailLevel=summary`;
  const jobOf = ({ headers }: Reply) => `/api/jobs/${headers['x-job-id']}/result`;

  test.for(['csv', 'ndjson', 'xlsx', 'parquet'])(
    'is that of the call, as %s',
    async (format, { client, upstream: _ }) => {
      const call = CALL();
      const job = jobOf(await client.get(call));
      const form = `format=${format}&table=products`;
      const table = await client.get(`${job}?${form}`);
      const called = await client.get(`${call}&${form}`);
      expect([table.status, called.status]).toEqual([200, 200]);
      expect(table.body.equals(called.body)).toBe(true);
      for (const name of ['content-type', 'content-disposition'])
        expect(table.headers[name]).toBe(called.headers[name]);
      expect(table.headers['x-units-consumed']).toBe('0');
    },
  );

  test('returns 400 that names format or table for a result without that table', async ({
    client,
    upstream: _,
  }) => {
    const faultsOf = async (path: string) => {
      const { status, json } = await client.get(path);
      const { errors } = json.metadata as { errors: { parameter: string }[] };
      return [status, ...errors.map(({ parameter }) => parameter)];
    };
    const product = jobOf(await client.get(CALL()));
    expect(await faultsOf(`${product}?format=csv&table=moons`)).toEqual([400, 'table']);
    expect(await faultsOf(`${product}?format=pdf`)).toEqual([400, 'format']);
    expect(await faultsOf(`${product}?table=products`)).toEqual([400, 'table']);
    const picture = jobOf(await client.get(`/api/market/graphimage?domain=1&asin=${newAsin()}`));
    expect(await faultsOf(`${picture}?format=csv`)).toEqual([400, 'format']);
    const made = jobOf(await client.get(`${CALL()}&format=csv&table=products`));
    expect(await faultsOf(`${made}?format=xlsx`)).toEqual([400, 'format']);
    expect(await faultsOf(`${made}?format=csv&table=daily`)).toEqual([400, 'table']);
    expect((await client.get(`${made}?format=csv&table=products`)).text).toBe((await client.get(made)).text);
  });
});
