import { Registry } from 'prom-client';
import { request } from 'undici';
import { expect } from 'vitest';
import { ConfigError } from '../../src/platform/settings.ts';
import { type MetricsServer, openMetricsServer } from '../../workers/metrics-server.ts';
import { knowsEveryProduct, newAsin } from '../support/answers.ts';
import { TestClock } from '../support/clock.ts';
import { parseExposition, type Scrape } from '../support/exposition.ts';
import { PLENTY } from '../support/scripted-upstream.ts';
import { test as base } from '../support/souk-test.ts';
import { advanceUntil } from '../support/time.ts';

const host = '127.0.0.1';

const test = base.extend('server', { scope: 'file' }, async ({ souk }, { onCleanup }) => {
  const registry = souk.workers[0]?.registry ?? new Registry();
  const server = await openMetricsServer(registry, {
    host,
    port: 0,
    token: undefined,
    clock: new TestClock(),
  });
  onCleanup(() => server.close());
  return server;
});

async function scrape(server: MetricsServer): Promise<Scrape> {
  const { statusCode, body } = await request(`http://${host}:${server.port}/metrics`);
  expect(statusCode).toBe(200);
  return parseExposition(await body.text());
}

/** Returns the increase of each metric during an action. */
async function rises(server: MetricsServer, act: () => Promise<unknown>) {
  const before = await scrape(server);
  await act();
  const after = await scrape(server);
  return (name: string, labels: Record<string, string> = {}) =>
    after.sum(name, labels) - before.sum(name, labels);
}

const product = (asins: string, more = '') => `/api/market/product?domain=1&asins=${asins}${more}`;

test('measures a settled job with its wait, units and tokens', async ({ souk, server }) => {
  souk.upstream.on('product', async (call, response) => {
    const answer = (await knowsEveryProduct(call, response)) as { json: object };
    return { json: { ...answer.json, tokensConsumed: 7 } };
  });
  const client = await souk.client();
  const rise = await rises(server, () => client.get(product(`${newAsin()},${newAsin()}`)));
  expect(rise('souk_job_duration_seconds_count', { pool: 'market', state: 'settled' })).toBe(1);
  expect(rise('souk_queue_wait_seconds_count', { pool: 'market' })).toBe(1);
  expect(rise('souk_units_settled_total')).toBe(2);
  expect(rise('souk_upstream_tokens_spent_total')).toBe(7);
  expect(rise('souk_cache_misses_total', { cache: 'sources' })).toBe(2);
  expect(rise('souk_job_failures_total')).toBe(0);
});

test('counts the tokens saved by sources from the cache', async ({ souk, server }) => {
  souk.upstream.on('product', async (call, response) => {
    const answer = (await knowsEveryProduct(call, response)) as { json: object };
    return { json: { ...answer.json, tokensConsumed: 6 } };
  });
  const client = await souk.client();
  const [a, b, c] = [newAsin(), newAsin(), newAsin()];
  await client.get(product(`${a},${b}`));
  const rise = await rises(server, () => client.get(product(`${a},${b},${c}`)));
  expect(rise('souk_cache_hits_total', { cache: 'sources' })).toBe(2);
  expect(rise('souk_cache_misses_total', { cache: 'sources' })).toBe(1);
  expect(rise('souk_upstream_tokens_saved_total')).toBe(6);
  expect(rise('souk_upstream_tokens_spent_total')).toBe(6);
});

test('counts the expected tokens if the answer does not state its cost', async ({ souk, server }) => {
  const { tokensConsumed: _, ...silent } = PLENTY;
  souk.upstream.on('product', ({ params }) => ({
    raw: JSON.stringify({ ...silent, timestamp: 1e9, products: [{ asin: params.asin, csv: [] }] }),
  }));
  const client = await souk.client();
  // Three for a product with Buy Box prices.
  const rise = await rises(server, () => client.get(product(newAsin(), '&buybox=1')));
  expect(rise('souk_upstream_tokens_spent_total')).toBe(3);
});

test('measures a failed job as released and counts its error code', async ({ souk, server }) => {
  souk.upstream.on('product', () => ({ status: 500, json: {} }));
  const client = await souk.client();
  const rise = await rises(server, async () => {
    let isAnswered = false;
    const reply = client.get(product(newAsin())).finally(() => {
      isAnswered = true;
    });
    await advanceUntil(souk.clock, () => isAnswered, 50);
    expect((await reply).json.code).toBe('UPSTREAM_ERROR');
  });
  expect(rise('souk_job_duration_seconds_count', { pool: 'market', state: 'released' })).toBe(1);
  expect(rise('souk_job_failures_total', { pool: 'market', code: 'UPSTREAM_ERROR' })).toBe(1);
  expect(rise('souk_units_settled_total')).toBe(0);
});

test('labels metrics with names from the code only', async ({ server }) => {
  const { samples } = await scrape(server);
  const names = new Set(samples.flatMap(({ labels }) => Object.keys(labels)));
  const known = 'operation outcome provider_account cache pool state code store reason channel le'.split(' ');
  expect([...names].filter((name) => !known.includes(name))).toEqual([]);
  const values = samples.flatMap(({ labels: { le: _, ...rest } }) => Object.values(rest));
  expect(values.filter((value) => !/^[a-z.]+$|^[A-Z_]+$/.test(value))).toEqual([]);
});

test('serves only /metrics, with a token only to clients that send it', async ({ server }) => {
  const token = 'for-prometheus-only';
  const closed = await openMetricsServer(new Registry(), { host, port: 0, token, clock: new TestClock() });
  const statusOf = async (port: number, path: string, headers = {}) => {
    const { statusCode, body } = await request(`http://${host}:${port}${path}`, { headers });
    await body.dump();
    return statusCode;
  };
  expect(await statusOf(server.port, '/metrics?x=1')).toBe(200);
  expect(await statusOf(server.port, '/')).toBe(404);
  expect(await statusOf(closed.port, '/metrics')).toBe(401);
  expect(await statusOf(closed.port, '/metrics', { authorization: `Bearer ${token}` })).toBe(200);
  await closed.close();
});

test('names a port that is in use', async ({ server }) => {
  const again = openMetricsServer(new Registry(), {
    host,
    port: server.port,
    token: undefined,
    clock: new TestClock(),
  });
  await expect(again).rejects.toThrow(ConfigError);
  await expect(again).rejects.toThrow(/Cannot listen on HOST .* and METRICS_PORT \d+/);
});
