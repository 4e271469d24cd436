import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type BatchFile, runBatch } from '../../clients/typescript/src/command/batch.ts';
import {
  type BatchResult,
  ConnectionError,
  NotFoundError,
  QuotaError,
  Souk,
  TimeoutError,
} from '../../clients/typescript/src/index.ts';
import { sleep } from '../../clients/typescript/src/transport.ts';
import type { RunningGateway } from '../../src/gateway/open-gateway.ts';
import { newAsin } from '../support/answers.ts';
import { asinsFrom, callsOf, learnTokens } from '../support/batches.ts';
import { openFaultProxy } from '../support/fault-proxy.ts';
import { csvReport, load } from '../support/reports.ts';
import { productsHourly } from '../support/schedules.ts';
import { testWithHeldProducts, test as withService } from '../support/souk-test.ts';

/** Tests of the client library against a service, through a proxy that breaks connections. */
const test = withService
  .extend('proxy', async ({ souk }, { onCleanup }) => {
    const proxy = await openFaultProxy(() => addressOf(souk.gateways.at(-1)));
    onCleanup(() => proxy.close());
    return proxy;
  })
  .extend('pauses', () => [] as number[])
  .extend('api', ({ proxy, account, pauses, upstream: _ }) => {
    const pause = (ms: number, signal?: AbortSignal) => {
      pauses.push(ms);
      return sleep(Math.min(ms, 20), signal);
    };
    return new Souk({ baseUrl: proxy.url, apiKey: account.key }, { sleep: pause, random: () => 0 });
  });

function addressOf(gateway: RunningGateway | undefined): string {
  const { port } = (gateway?.app.server.address() ?? {}) as Partial<AddressInfo>;
  return `http://127.0.0.1:${port}`;
}

const ask = (...asins: string[]) => ({ country: 'us', asins, detailLevel: 'summary' }) as const;

test('returns typed data with its units, and their sum', async ({ api }) => {
  const asins = [newAsin(), newAsin()];
  const { products, country } = await api.market.product(ask(...asins));
  expect(products.map(({ asin }) => asin)).toEqual(asins.sort());
  expect(country).toBe('us');

  const { meta } = await api.market.product({ domain: 1, asins: [newAsin()] }).withMeta();
  expect(meta).toMatchObject({ status: 200, units: 1, isDeduplicated: false });
  const repeated = await api.market.product(ask(...asins)).withMeta();
  expect(repeated.meta).toMatchObject({ units: 0, isDeduplicated: true });
  expect(api.units.spent).toBe(3);
});

test('returns decoded histories by name', async ({ api, upstream }) => {
  upstream.on('product', ({ params }) => ({
    json: { products: [{ asin: params.asin, productType: 0, title: 'Thing', csv: [[8_000_000, 1999]] }] },
  }));
  const { products } = await api.market.product({ domain: 1, asins: [newAsin()], decode: true, days: 3650 });
  expect(products[0]?.history?.amazon?.value).toEqual([19.99]);
});

test('keeps the digits of integers beyond 2^53', async ({ api, upstream }) => {
  const raw =
    '{"tokensLeft":1000,"refillIn":1,"refillRate":1,"categories":{"1":{"catId":9007199254740993,"name":"A","parent":0}}}';
  upstream.on('search', () => ({ raw }));
  const { categories } = await api.market.categorySearch({ country: 'us', term: 'large ids' });
  expect(categories[0]?.catId).toBe(9007199254740993n);
});

test('returns a price with dryRun, and refuses more than maxUnits', async ({ api }) => {
  const quote = await api.market.topSeller({ country: 'us' }, { dryRun: true });
  expect(quote).toMatchObject({ dryRun: true, units: 50, admitted: true });
  const tooMuch = api.market.product(ask(newAsin(), newAsin()), { maxUnits: 1 });
  await expect(tooMuch).rejects.toThrow(QuotaError);
  await expect(tooMuch).rejects.toMatchObject({
    code: 'QUOTA_MAX_UNITS',
    status: 429,
    requestId: expect.any(String),
  });
});

test('repeats a call whose answer got lost; it is charged once', async ({ api, proxy, upstream }) => {
  proxy.next('/api/market/product', { kind: 'lose' });
  proxy.next('/api/market/product', { kind: 'cut', afterBytes: 40 });
  const { meta } = await api.market.product(ask(newAsin())).withMeta();
  expect(meta).toMatchObject({ isDeduplicated: true, units: 1 });
  expect(api.units.spent).toBe(1);
  expect(upstream.calls).toHaveLength(1);
  expect((await api.jobs.list()).jobs).toHaveLength(1);
});

test('counts a call whose answer a proxy has replaced by its own page', async ({ api, proxy }) => {
  proxy.next('/api/market/product', { kind: 'lose', status: 504 });
  const { meta } = await api.market.product(ask(newAsin())).withMeta();
  expect(meta).toMatchObject({ isDeduplicated: true, units: 1 });
  expect(api.units.spent).toBe(1);
});

test('waits as long as a 429 or 503 says', async ({ api, proxy, pauses }) => {
  const body = JSON.stringify({ code: 'BUSY', msg: 'busy', data: null });
  proxy.next('/api/quota', { kind: 'answer', status: 503, headers: { 'retry-after': '7' }, body });
  proxy.next('/api/quota', { kind: 'answer', status: 429, headers: { 'retry-after': '3' }, body });
  proxy.next('/api/quota', { kind: 'answer', status: 502, body: '<html>a proxy</html>' });
  expect((await api.account.quota()).nextCallRejectReason).toBeNull();
  expect(pauses).toEqual([7_000, 3_000, 1_000]);
});

test('repeats a request not answered in time, until attempts are used up', async ({ api, proxy, pauses }) => {
  for (let i = 0; i < 5; i += 1) proxy.next('/api/quota', { kind: 'hang' });
  await expect(api.account.quota({}, { timeoutMs: 20 })).rejects.toThrow(TimeoutError);
  expect(pauses).toEqual([250, 500, 1_000, 2_000]);
});

test('does not repeat a request whose effect would happen twice', async ({ api, proxy }) => {
  proxy.next('/api/schedules', { kind: 'lose' });
  const created = api.schedules.create(productsHourly([newAsin()]) as never);
  await expect(created).rejects.toThrow(ConnectionError);
  expect(proxy.requests).toEqual(['POST /api/schedules']);
  expect((await api.schedules.list()).schedules).toHaveLength(1);
});

test.for([
  ['without a key', {}],
  ['with an undefined key', { idempotencyKey: undefined }],
  ['with a key', { idempotencyKey: 'monday' }],
] as const)(
  'repeats a lost batch %s with the same key, so that one is created',
  async ([, key], { api, proxy }) => {
    proxy.next('/api/batches', { kind: 'lose' });
    const { batchId } = await api.batches.create({ ...callsOf([newAsin()]), ...key } as never);
    const { batches } = await api.batches.list();
    expect(batches.map((one) => one.batchId)).toEqual([batchId]);
  },
);

test('a batch file continues its batch after an interruption, refuses other items, and leaves nothing after a refusal', async ({
  api,
}) => {
  const folder = mkdtempSync(join(tmpdir(), 'souk-batch-file-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file: BatchFile = {
    input: join(folder, 'items.csv'),
    out: join(folder, 'out.csv'),
    operation: 'market.product',
    params: { country: 'us' },
    maxUnits: undefined,
  };
  const { signal } = new AbortController();
  writeFileSync(file.input, 'asin\nno\n');
  await expect(runBatch(api, file, signal)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  expect(readdirSync(folder)).toEqual(['items.csv']);

  const items = `asin,detailLevel\n${newAsin()},summary\n${newAsin()},\n`;
  writeFileSync(file.input, items);
  const stopped = new Error('stopped');
  await expect(runBatch(api, file, AbortSignal.abort(stopped))).rejects.toBe(stopped);
  writeFileSync(file.input, `asin\n${newAsin()}\n`);
  await expect(runBatch(api, file, signal)).rejects.toThrow('is of a batch with other items or options');
  writeFileSync(file.input, items);
  expect(await runBatch(api, file, signal)).toBe(0);
  expect(readdirSync(folder)).toEqual(['items.csv', 'out.csv']);
  expect((await api.batches.list()).batches).toHaveLength(1);
});

test('names the parameters that are missing', async ({ api }) => {
  const nothing = api.market.product({} as never);
  await expect(nothing).rejects.toThrow('asins: is required');
});

test('ends when its signal is aborted, also between attempts', async ({ api, proxy }) => {
  const reason = new Error('the user left');
  await expect(api.account.quota({}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  const controller = new AbortController();
  proxy.next('/api/quota', { kind: 'hang' });
  const pending = api.account.quota({}, { signal: controller.signal });
  await expect.poll(() => proxy.requests.length).toBe(1);
  controller.abort(reason);
  await expect(pending).rejects.toBe(reason);
});

test('iterates over all pages of a list', async ({ api }) => {
  for (let i = 0; i < 3; i += 1) await api.market.product(ask(newAsin()));
  const operations: string[] = [];
  for await (const { operation } of api.jobs.list({ limit: 2 })) operations.push(operation);
  expect(operations).toEqual(['market.product', 'market.product', 'market.product']);
});

test('throws the error of its status, with the code', async ({ api, proxy }) => {
  const unknown = api.jobs.get('00000000-0000-7000-8000-000000000000');
  await expect(unknown).rejects.toThrow(NotFoundError);
  await expect(unknown).rejects.toMatchObject({ code: 'JOB_NOT_FOUND', status: 404 });
  await expect(api.market.product({ domain: 1, asins: ['no'] })).rejects.toMatchObject({
    name: 'InvalidRequestError',
    metadata: { errors: [{ parameter: 'asins' }] },
  });
  expect(proxy.requests).toHaveLength(2);
});

test('follows an accepted call to its result, and counts its units', async ({ api, proxy }) => {
  const { data, meta } = await api.market
    .product(ask(newAsin()), { headers: { prefer: 'respond-async' } })
    .withMeta();
  expect(data.count).toBe(1);
  expect(meta).toMatchObject({ status: 200, units: 1, jobId: expect.any(String) });
  expect(api.units.spent).toBe(1);
  expect(proxy.requests[1]).toMatch(/^GET \/api\/jobs\/.*\/result\?wait=30$/);
});

test('throws the error of a job that failed, without asking again', async ({ api, upstream, proxy }) => {
  upstream.on('product', () => ({ status: 400, json: { error: { message: 'no' } } }));
  const { jobId } = await api.jobs.create({
    operation: 'market.product',
    params: { domain: 1, asins: [newAsin()] },
  });
  await expect(api.jobs.result(jobId)).rejects.toMatchObject({ code: 'UPSTREAM_ERROR', status: 502 });
  expect(proxy.requests).toHaveLength(2);
  expect(api.units.spent).toBe(0);
});

test('yields results once, across broken connections and a restart', async ({ souk, api, proxy }) => {
  await learnTokens(souk);
  const asins = asinsFrom('BCLIENT', 40);
  const { batchId } = await api.batches.create(callsOf(asins) as never);
  for (const afterBytes of [1, 2_000, 5_000]) proxy.next('/results', { kind: 'cut', afterBytes });
  await souk.addGateway();
  const results: BatchResult<'market.product'>[] = [];
  for await (const result of api.batches.results<'market.product'>(batchId)) {
    results.push(result);
    if (results.length === 10) await souk.gateways.pop()?.close();
  }
  expect(results.map(({ index }) => index)).toEqual(asins.map((_, i) => i));
  expect(results.flatMap((result) => (result.code === '0000' ? result.data.products[0]?.asin : []))).toEqual(
    asins,
  );
  expect((await api.batches.wait(batchId)).units.charged).toBe(40);
  const { stream } = await api.batches.table(batchId, { format: 'csv' });
  expect((await new Response(stream).text()).trim().split('\n')).toHaveLength(41);
});

test('a download continues after broken connections, and is opened by its id', async ({
  souk,
  api,
  proxy,
}) => {
  await load(souk.database, 'us', csvReport('2026-04-11', [{ term: 'garden hose', rank: 1 }]));
  const { file } = await api.aba.export({ country: 'us', fileFormat: 'csv' });
  const whole = await new Response((await api.files.get(file.fileId)).stream).text();
  expect(whole.split('\n')[1]).toContain('garden hose');
  for (const afterBytes of [100, 20]) proxy.next('/api/files/', { kind: 'cut', afterBytes });
  proxy.requests.length = 0;
  const { name, stream } = await api.files.get(file.fileId);
  expect([name, await new Response(stream).text()]).toEqual([file.name, whole]);
  expect(proxy.requests).toHaveLength(3);
  await expect(api.files.get(crypto.randomUUID())).rejects.toBeInstanceOf(NotFoundError);
});

test('a list that costs units is read by page and by entry, and returns a price or a table by its options', async ({
  souk,
  api,
}) => {
  const terms = ['garden hose', 'garden lamp'];
  const rows = terms.map((term, i) => ({ term, rank: i + 1 }));
  await load(souk.database, 'us', csvReport('2026-04-11', rows));
  const params = { country: 'us', limit: 1 } as const;
  const found: string[] = [];
  for await (const { keyword } of api.research.screen(params, { maxUnits: 1 })) found.push(keyword);
  expect(found).toEqual(terms);
  const { units } = await api.research.screen(params, { dryRun: true });
  const table = await api.research.screen(params, { format: 'csv', table: 'terms' });
  expect([units, (await table.text()).split('\n')[1]]).toEqual([1, expect.stringContaining('garden hose')]);
});

testWithHeldProducts(
  'yields the states of a job until its end, across a broken connection',
  async ({ souk, account, release }) => {
    const proxy = await openFaultProxy(() => addressOf(souk.gateways[0]));
    const api = new Souk(
      { baseUrl: proxy.url, apiKey: account.key },
      { sleep: (_, signal) => sleep(1, signal) },
    );
    const { jobId } = await api.jobs.create({
      operation: 'market.product',
      params: { domain: 1, asins: [newAsin()] },
    });
    proxy.next('/events', { kind: 'cut', afterBytes: 10 });
    const states: string[] = [];
    for await (const { state } of api.jobs.events(jobId)) {
      if (states.length === 0) release();
      states.push(state);
    }
    expect(states[0]).not.toBe('done');
    expect(states.at(-1)).toBe('done');
    expect(proxy.requests.filter((request) => request.includes('/events'))).toHaveLength(2);
    await proxy.close();
  },
);
