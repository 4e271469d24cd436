import { connect } from 'node:net';
import { expect } from 'vitest';
import { drawsPictures, hasDeals, knowsEveryProduct, newAsin } from '../../support/answers.ts';
import type { Client, RequestOptions } from '../../support/client.ts';
import { parseExposition, type Scrape } from '../../support/exposition.ts';
import { gate } from '../../support/scripted-upstream.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { test as base } from '../../support/souk-test.ts';
import { words } from '../../support/words.ts';

const TOKEN = 'for-prometheus-only';
const bearer = { headers: { authorization: `Bearer ${TOKEN}` } };

/** `idle`: a service without workers, whose metrics need a token. */
const test = base.extend('idle', { scope: 'file' }, async ({ souk: _ }, { onCleanup }) => {
  const idle = await openSouk({ workers: 0, operator: { metricsToken: TOKEN } });
  onCleanup(() => idle.close());
  return idle;
});

test.beforeAll(({ souk }) => souk.upstream.on('graphimage', drawsPictures));

/** The public metrics of a gateway. */
async function scrape(souk: Souk, options: RequestOptions = {}): Promise<Scrape> {
  const reply = await souk.clientOf('').raw('/metrics', options);
  expect([reply.status, reply.headers['content-type']]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
  return parseExposition(reply.text);
}

const product = (asin: string, more = '') => `/api/market/product?domain=1&asins=${asin}${more}`;

/** Returns the increase of a metric during an action. */
async function rise(
  souk: Souk,
  name: string,
  labels: Record<string, string>,
  act: () => Promise<unknown>,
): Promise<number> {
  const before = await scrape(souk);
  await act();
  return (await scrape(souk)).sum(name, labels) - before.sum(name, labels);
}

test('counts requests by route, method and status', async ({ souk }) => {
  const client = await souk.client();
  const labels = { route: '/api/market/product', method: 'GET' };
  const ask = () => client.get(product(newAsin()));
  expect(await rise(souk, 'souk_http_requests_total', { ...labels, status: '200' }, ask)).toBe(1);
  const askBadly = () => client.get('/api/market/product?domain=99');
  expect(await rise(souk, 'souk_http_requests_total', { ...labels, status: '400' }, askBadly)).toBe(1);
  expect(await rise(souk, 'souk_http_request_duration_seconds_count', { route: labels.route }, ask)).toBe(1);
});

test('counts requests for unknown paths under one route', async ({ souk }) => {
  const labels = { route: 'none', method: 'GET', status: '404' };
  const wander = async () => {
    for (const path of ['/wp-admin', '/apis/nowhere', `/${'x'.repeat(90)}`])
      await souk.clientOf('').raw(path);
  };
  expect(await rise(souk, 'souk_http_requests_total', labels, wander)).toBe(3);
});

test('counts a client that disconnects before its answer as 499', async ({ souk }) => {
  const client = await souk.client();
  const working = gate();
  souk.upstream.on('product', async (call, response) => {
    await working.reached;
    return knowsEveryProduct(call, response);
  });
  const labels = { route: '/api/market/product', status: '499' };
  const before = (await scrape(souk)).sum('souk_http_requests_total', labels);
  const controller = new AbortController();
  const asked = souk.upstream.calls.length;
  const reply = client.get(product(newAsin()), { signal: controller.signal });
  await souk.upstream.received(asked + 1);
  controller.abort();
  await expect(reply).rejects.toThrow();
  await expect
    .poll(async () => (await scrape(souk)).sum('souk_http_requests_total', labels))
    .toBe(before + 1);
  working.open();
  souk.upstream.on('product', knowsEveryProduct);
});

test('counts outcomes of calls, cache hits, tokens saved and units settled', async ({ souk }) => {
  const [client, other] = [await souk.client(), await souk.client()];
  const poor = await souk.client({ plan: null });
  const [first, second] = [newAsin(), newAsin()];
  const path = product(`${first},${second}`);
  const before = await scrape(souk);
  const ask = async (who: Client) => (await who.get(path)).status;
  expect([await ask(client), await ask(client), await ask(other), await ask(poor)]).toEqual([
    200, 200, 200, 429,
  ]);
  const after = await scrape(souk);
  const rises = (name: string, labels: Record<string, string> = {}) =>
    after.sum(name, labels) - before.sum(name, labels);
  for (const outcome of ['started', 'joined', 'cached', 'refused'])
    expect([outcome, rises('souk_admissions_total', { operation: 'market.product', outcome })]).toEqual([
      outcome,
      1,
    ]);
  expect(rises('souk_refusals_total', { code: 'QUOTA_NO_SUBSCRIPTION' })).toBe(1);
  // The second account. The refused call had found the answer as well, but was not admitted.
  expect(rises('souk_cache_hits_total', { cache: 'answers' })).toBe(1);
  expect(rises('souk_cache_misses_total', { cache: 'answers' })).toBe(1);
  // The scripted upstream says that its one call has cost one token.
  expect(rises('souk_upstream_tokens_saved_total')).toBe(1);
  // The worker charges the units of the first call.
  expect(rises('souk_units_settled_total')).toBe(2);
});

test('counts the units of an asynchronous call with a cached answer once', async ({ souk }) => {
  const path = product(newAsin());
  await (await souk.client()).get(path);
  const poller = await souk.client();
  expect(await rise(souk, 'souk_units_settled_total', {}, () => poller.get(`${path}&async=1`))).toBe(1);
});

test.for<[string, string, (client: Client) => Promise<unknown>]>([
  ['VALIDATION_FAILED', 'a bad parameter', (client) => client.get('/api/market/product?domain=99')],
  ['VALIDATION_FAILED', 'a path that cannot be decoded', (client) => client.get('/api/%zz')],
  ['VALIDATION_FAILED', 'malformed HTTP', ({ baseUrl }) => sendRaw(baseUrl, 'nonsense\r\n\r\n')],
  ['4000', 'a bad selection', (client) => client.post('/api/market/productfinder', { nothing: 1 })],
  ['4001', 'a wrong key', (client) => client.raw('/api/quota', { headers: { 'x-api-key': 'km_wrong' } })],
  ['NOT_FOUND', 'an unknown path', (client) => client.get('/api/nowhere')],
  [
    'METHOD_NOT_ALLOWED',
    'a method that is not allowed',
    (client) => client.get('/api/quota', { method: 'PUT' }),
  ],
  [
    'JOB_NOT_FOUND',
    'an unknown job',
    (client) => client.get('/api/jobs/00000000-0000-7000-8000-000000000000'),
  ],
])('counts %s for %s', async ([code, _what, act], { souk }) => {
  const client = await souk.client();
  expect(await rise(souk, 'souk_refusals_total', { code }, () => act(client))).toBe(1);
});

function sendRaw(baseUrl: string, text: string): Promise<void> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.on('error', reject).on('close', () => resolve());
    socket.resume();
  });
}

test('shows the current queue depths, workers and tokens', async ({ souk }) => {
  const client = await souk.client();
  const working = gate();
  souk.upstream.on('lightningdeal', async (call, response) => {
    await working.reached;
    return hasDeals([])(call, response);
  });
  // A pool of two at a time.
  for (const domain of [1, 2, 3]) await client.get(`/api/market/lightningdeal?domain=${domain}&async=1`);
  const depth = async () => {
    const { sum } = await scrape(souk);
    return ['waiting', 'running'].map((state) => sum('souk_queue_jobs', { pool: 'lightning', state }));
  };
  await expect.poll(depth).toEqual([1, 2]);
  working.open();
  await expect.poll(depth).toEqual([0, 0]);

  const { samples, sum } = await scrape(souk);
  const poolsOf = (metric: string) =>
    new Set(samples.filter(({ name }) => name === metric).map(({ labels }) => labels.pool));
  const live = ['market', 'lightning', 'storefront', 'graph', 'keywords', 'trends', 'exports'];
  const pools = [...live, 'test'];
  expect(poolsOf('souk_queue_jobs')).toEqual(new Set([...pools, 'batch']));
  expect(poolsOf('souk_workers')).toEqual(new Set([...pools, 'batch']));
  // The service of this test has no worker for test calls.
  expect(sum('souk_workers')).toBe(live.length + 1);
  expect(sum('souk_workers', { pool: 'batch' })).toBe(1);
  expect(sum('souk_queue_expected_wait_seconds', { pool: 'graph' })).toBe(0);
  expect(sum('souk_upstream_tokens_left')).toBe(10_000);
  expect(sum('souk_upstream_tokens_per_minute')).toBe(300);
});

test('the expected wait is infinite, and tokens are absent, without a worker', async ({ idle }) => {
  const { sum, samples } = await scrape(idle, bearer);
  expect(sum('souk_queue_expected_wait_seconds', { pool: 'market' })).toBe(Number.POSITIVE_INFINITY);
  expect(sum('souk_workers')).toBe(0);
  expect(samples.filter(({ name }) => name.includes('tokens_left'))).toEqual([]);
});

test('gateways report the same shared values, and each its own requests', async ({ souk }) => {
  await souk.addGateway();
  const client = await souk.client({ gateway: 1 });
  const before = await scrape(souk);
  await client.get(product(newAsin()));
  const other = parseExposition((await client.raw('/metrics')).text);
  const labels = { route: '/api/market/product', status: '200' };
  const after = await scrape(souk);
  expect(other.sum('souk_http_requests_total', labels)).toBe(1);
  expect(after.sum('souk_http_requests_total', labels)).toBe(before.sum('souk_http_requests_total', labels));
  expect(other.sum('souk_workers')).toBe(after.sum('souk_workers'));
});

test('no label contains data or the identity of a customer', async ({ souk }) => {
  const { accountId, key } = await souk.account();
  const client = souk.clientOf(key);
  const asin = 'B0PRIVATE1';
  const { headers } = await client.get(product(asin, '&webhook=https://hook.test/secret'));
  const job = await client.get(product('B0PRIVATE2', '&async=1'));
  const { jobId } = job.json.data;
  await client.get(`/api/jobs/${jobId}?wait=5`);
  await client.get(`/api/${asin}?key=${key}`);
  await client.get(`/api/market/graphimage?domain=1&asin=${asin}`);
  const { samples } = await scrape(souk);
  const names = new Set(samples.flatMap(({ labels }) => Object.keys(labels)));
  const known = words(`
    store route method status code operation outcome provider_account cache pool state reason channel alert le
  `);
  expect([...names].filter((name) => !known.includes(name))).toEqual([]);
  // Numeric labels are excluded, because an account number could equal one of them.
  const values = new Set(
    samples.flatMap(({ labels: { le: _, status: __, ...rest } }) => Object.values(rest)),
  );
  const secrets = [asin, 'B0PRIVATE2', key, jobId, headers['x-request-id'] ?? 'none', 'hook.test', '?'];
  expect([...values].filter((value) => secrets.some((secret) => value.includes(secret)))).toEqual([]);
  expect(values).not.toContain(String(accountId));
  expect(values).toContain('/api/jobs/:id');
});

test('requires METRICS_TOKEN if it is set', async ({ idle }) => {
  const { raw } = idle.clientOf('');
  const statusWith = async (authorization?: string) =>
    (await raw('/metrics', authorization ? { headers: { authorization } } : {})).status;
  expect(await statusWith()).toBe(401);
  expect(await statusWith(`${bearer.headers.authorization.slice(0, -1)}x`)).toBe(401);
  expect(await statusWith(bearer.headers.authorization)).toBe(200);
  expect((await raw('/healthz')).status).toBe(200);
  expect(idle.logLines.join('')).not.toContain('for-prometheus');
});
