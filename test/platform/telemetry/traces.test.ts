import { createRequire } from 'node:module';
import { beforeEach, expect, onTestFinished, vi } from 'vitest';
import { openTracing, type Tracing } from '../../../src/platform/telemetry/tracing.ts';
import { type CollectedSpan, type Collector, openCollector } from '../../support/collector.ts';
import { createSignals } from '../../support/signals.ts';
import { UPSTREAM_KEY } from '../../support/souk.ts';
import { test as base } from '../../support/souk-test.ts';

/** The file that lists the loaded packages. */
const { cache } = createRequire(import.meta.url);
const loadedSdk = () => Object.keys(cache).filter((path) => path.includes('@opentelemetry/sdk-trace'));

const troubles: string[] = [];
beforeEach(() => {
  troubles.length = 0;
});

/** A tracing that is flushed when all of its spans have ended. */
function flushableTracing(collector: Collector) {
  const open = () =>
    openTracing(collector.url, 'souk-test', (trouble) => void troubles.push(trouble)) as Promise<Tracing>;
  let current: Tracing;
  const running = new Set<string>();
  const signals = createSignals(() => [...running]);
  const tracing: Tracing = {
    start(options) {
      const span = current.start(options);
      const { traceparent } = span;
      running.add(traceparent);
      const end = () => {
        span.end();
        running.delete(traceparent);
        signals.changed();
      };
      return { ...span, end };
    },
    close: () => current.close(),
  };
  return {
    tracing,
    begin: async () => {
      current = await open();
    },
    async flush() {
      await signals.until('the end of all spans', () => running.size === 0 || undefined);
      await current.close();
    },
  };
}

const test = base
  .extend('collector', { scope: 'file' }, async ({}, { onCleanup }) => {
    const collector = await openCollector();
    onCleanup(() => collector.close());
    return collector;
  })
  .extend('flushable', { scope: 'file' }, ({ collector }) => flushableTracing(collector))
  .extend('soukOptions', { scope: 'file' }, ({ flushable }) => ({ tracing: flushable.tracing }))
  /** Does something with the service. @returns the spans of it. */
  .extend('collect', ({ collector, flushable, upstream: _ }) => async (act: () => Promise<unknown>) => {
    collector.spans.length = 0;
    await flushable.begin();
    try {
      await act();
    } finally {
      await flushable.flush();
    }
    expect(loadedSdk()).not.toEqual([]);
    return [...collector.spans];
  });

test('loads no tracing without a collector', async () => {
  await import('../../../src/gateway/open-gateway.ts');
  await import('../../../workers/worker.ts');
  expect(await openTracing(undefined, 'souk', () => {})).toBeNull();
  expect(loadedSdk()).toEqual([]);
});

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;

/** The names of a span and its ancestors, as far as they are ours. */
function lineage(spans: readonly CollectedSpan[], span: CollectedSpan | undefined): string[] {
  if (!span) return [];
  return [
    span.name,
    ...lineage(
      spans,
      spans.find(({ spanId }) => spanId === span.parentSpanId),
    ),
  ];
}

test('links request, job and upstream call in the trace of the client', async ({ client, collect }) => {
  const spans = await collect(async () => {
    const options = { headers: { traceparent: TRACEPARENT } };
    const reply = await client.post('/api/market/product', { domain: 1, asins: ['B0TRACED01'] }, options);
    expect(reply.status).toBe(200);
  });
  const upstream = spans.find(({ kind }) => kind === 3);
  expect(lineage(spans, upstream)).toEqual([
    'GET /product',
    'handle market.product',
    'job market.product',
    'submit market.product',
    'POST /api/market/product',
  ]);
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE_ID]));
  const server = spans.find(({ kind }) => kind === 2);
  expect(server?.parentSpanId).toBe('b7ad6b7169203331');
  expect(server?.attributes).toMatchObject({
    'http.route': '/api/market/product',
    'http.response.status_code': 200,
  });
  expect(upstream?.attributes).toMatchObject({ 'url.path': '/product', 'http.response.status_code': 200 });
  expect(spans.filter(({ status }) => status.code === 2)).toEqual([]);
  expect(troubles).toEqual([]);
});

test('starts a trace for each request without a valid traceparent', async ({ souk, collect }) => {
  const spans = await collect(async () => {
    const { raw } = souk.clientOf('');
    await raw('/healthz');
    await raw('/healthz', { headers: { traceparent: 'nonsense' } });
  });
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(2);
  expect(spans.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([
    ['GET /healthz', undefined],
    ['GET /healthz', undefined],
  ]);
});

test('marks a failure in its span and in all parent spans', async ({ client, upstream, collect }) => {
  const spans = await collect(async () => {
    upstream.on('product', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
    expect((await client.get('/api/market/product?domain=1&asins=B0TRACED02')).status).toBe(502);
  });
  const failed = spans.filter(({ status }) => status.code === 2);
  expect(new Set(failed.map(({ name }) => name))).toEqual(
    new Set(['GET /product', 'handle market.product', 'job market.product', 'GET /api/market/product']),
  );
  const job = failed.find(({ name }) => name.startsWith('job'));
  expect(job?.attributes).toMatchObject({ 'error.type': 'UPSTREAM_ERROR', 'souk.state': 'released' });
});

test('records a cached answer without a job span', async ({ souk, collect }) => {
  const spans = await collect(async () => {
    const path = '/api/market/product?domain=1&asins=B0TRACED03';
    for (const client of [await souk.client(), await souk.client()]) await client.get(path);
  });
  expect(spans.filter(({ name }) => name === 'job market.product')).toHaveLength(1);
  const submissions = spans.filter(({ name }) => name === 'submit market.product');
  expect(submissions.map(({ attributes }) => attributes['souk.outcome'])).toEqual(['started', 'cached']);
});

test('sends no customer input and no key to the collector', async ({ client, collector, collect }) => {
  const before = collector.received().length;
  const { key } = client;
  await collect(async () => {
    await client.raw(`/api/market/product?domain=1&asins=B0SECRET01&key=${key}`);
    await client.post('/api/market/product', { domain: 1, asins: ['B0SECRET02'] });
    await client.get('/api/market/product?domain=1&asins=B0SECRET*3');
    await client.get('/api/jobs/B0SECRET04');
    await client.get('/B0SECRET05');
  });
  const sent = collector.received().slice(before);
  expect(sent).toContain('GET /api/jobs/:id');
  for (const secret of ['B0SECRET', key, key.slice(3), UPSTREAM_KEY, '?', 'asins'])
    expect(sent).not.toContain(secret);
});

test('reports an unreachable collector and serves requests', async ({ openAnother }) => {
  // Otherwise the exporter retries for ten seconds.
  vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '500');
  onTestFinished(() => void vi.unstubAllEnvs());
  const away = await openTracing('http://127.0.0.1:9', 'souk-test', (trouble) => void troubles.push(trouble));
  const traced = await openAnother({ ...(away ? { tracing: away } : {}), workers: 0 });
  expect((await traced.clientOf('').raw('/healthz')).status).toBe(200);
  await traced.close();
  await away?.close();
  expect(troubles.length).toBeGreaterThan(0);
});
