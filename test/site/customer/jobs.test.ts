import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { beforeEach, expect } from 'vitest';
import type { Redis } from '../../../src/platform/redis.ts';
import { drawsPictures, knowsEveryProduct, newAsin } from '../../support/answers.ts';
import { type Customer, PAGES, signedIn } from '../../support/customer.ts';
import { csvReport, load } from '../../support/reports.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { stopWorkers } from '../../support/workers.ts';

test.override('soukOptions', { pages: PAGES });
let souk: Souk;
let redis: Redis;
let customer: Customer;
test.beforeAll(async ({ souk: opened, redis: connection }) => {
  souk = opened;
  redis = connection;
});
beforeEach(async () => {
  customer = await signedIn(souk);
  souk.upstream.on('product', knowsEveryProduct);
  souk.upstream.on('graphimage', drawsPictures);
});

/** A call that has ended. @returns its job. */
async function called(path = `/api/market/product?domain=1&asins=${newAsin()}`): Promise<string> {
  const { headers, status } = await customer.client.get(path);
  expect(status).toBe(200);
  return headers['x-job-id'] ?? '';
}

test('lists jobs by state and operation, newest first', async () => {
  const first = await called();
  const second = await called(`/api/market/graphimage?domain=1&asin=${newAsin()}`);
  const all = (await customer.visitor.get('/account/jobs')).html;
  expect(all.indexOf(second)).toBeGreaterThan(-1);
  expect(all.indexOf(first)).toBeGreaterThan(all.indexOf(second));
  const pictures = (await customer.visitor.get('/account/jobs?operation=market.graphimage&state=done')).html;
  expect(pictures).toContain(second);
  expect(pictures).not.toContain(first);
  expect((await customer.visitor.get('/account/jobs?state=failed')).text).toContain('No calls found');
});

test('pages of jobs have no gap', async () => {
  const jobs: string[] = [];
  for (let i = 0; i < 27; i += 1) jobs.push(await called());
  const page = await customer.visitor.get('/account/jobs');
  const [, next = ''] = /href="([^"]+cursor=[^"]+)"[^>]*>Older/.exec(page.html) ?? [];
  const older = await customer.visitor.get(next.replaceAll('&amp;', '&'));
  const shown = (html: string) => jobs.filter((job) => html.includes(`/account/jobs/${job}"`));
  expect(shown(page.html)).toEqual(jobs.slice(2));
  expect(shown(older.html)).toEqual(jobs.slice(0, 2));
  expect(older.html).not.toContain('>Older<');
});

test('sends a stored answer unchanged, with its stored compression', async () => {
  const job = await called();
  const { body } = await customer.client.get(`/api/jobs/${job}/result`, {
    headers: { 'accept-encoding': 'gzip' },
  });
  const { name, value } = customer.cookie;
  const passed = await request(
    `${customer.client.baseUrl}/account/${customer.accountId}/jobs/${job}/result`,
    {
      headers: { cookie: `${name}=${value}`, 'accept-encoding': 'gzip' },
    },
  );
  expect(passed.statusCode).toBe(200);
  expect(passed.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'content-disposition': `attachment; filename="souk-${job.slice(-12)}.json"`,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  const bytes = Buffer.from(await passed.body.arrayBuffer());
  expect(bytes.equals(body)).toBe(true);
  expect(
    JSON.parse(
      passed.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes).toString() : bytes.toString(),
    ),
  ).toMatchObject({ code: '0000' });
});

test('a client that disconnects during a large answer delays no other request', async () => {
  const asin = newAsin();
  const title = randomBytes(12_000_000).toString('base64');
  souk.upstream.on('product', () => ({
    json: { products: [{ asin, domainId: 1, productType: 0, title, csv: [] }] },
  }));
  const job = await called(`/api/market/product?domain=1&asins=${asin}&detailLevel=full`);
  await souk.addGateway();
  const { baseUrl } = souk.clientOf('', 1);
  const { name, value } = customer.cookie;
  const passed = await request(`${baseUrl}/account/jobs/${job}/result`, {
    headers: { cookie: `${name}=${value}` },
  });
  for await (const chunk of passed.body) {
    expect((chunk as Buffer).length).toBeLessThan(12_000_000);
    break;
  }
  // A gateway closes once nothing is being answered any more.
  await souk.gateways.pop()?.close();
});

test('shows the file of an export with its download and links, whole and in parts', async () => {
  const term = { term: 'garden hose', rank: 1 };
  await load(souk.database, 'us', csvReport('2026-04-11', [term]));
  const { headers, json } = await customer.client.post('/api/aba/export', {
    country: 'us',
    fileFormat: 'csv',
  });
  const address = `/account/jobs/${headers['x-job-id']}`;
  const page = await customer.visitor.get(address);
  expect(page.text).toContain('File souk-terms-us-2026-04-11.csv Rows 1');
  expect(page.html).toContain(`href="${address}/file"`);
  expect(page.html).toContain(`name="id" value="${json.data.file.fileId}"`);
  const file = await customer.visitor.get(`${address}/file`);
  expect(file.headers['content-disposition']).toBe('attachment; filename="souk-terms-us-2026-04-11.csv"');
  const { name, value } = customer.cookie;
  const part = await request(
    `${customer.client.baseUrl}/account/${customer.accountId}/jobs/${headers['x-job-id']}/file`,
    {
      headers: { cookie: `${name}=${value}`, range: 'bytes=0-6', 'if-range': String(file.headers.etag) },
    },
  );
  expect([part.statusCode, await part.body.text()]).toEqual([206, 'country']);
  const other = await called();
  expect((await customer.visitor.get(`/account/jobs/${other}/file`)).status).toBe(404);
});

test('shows a picture on the page of its job', async () => {
  const job = await called(`/api/market/graphimage?domain=1&asin=${newAsin()}`);
  const page = await customer.visitor.get(`/account/jobs/${job}`);
  expect(page.html).toContain(`<img class="picture" src="/account/jobs/${job}/result"`);
  const picture = await customer.visitor.get(`/account/jobs/${job}/result`);
  expect(picture.headers['content-type']).toBe('image/png');
});

test('shows the progress of a job, and cancels it', async () => {
  await stopWorkers(souk);
  const { headers } = await customer.client.get(`/api/market/product?domain=1&asins=${newAsin()}&async=1`);
  const address = `/account/jobs/${headers['x-job-id']}`;
  const before = await customer.visitor.get(address);
  expect(before.html).toContain('data-refresh="1"');
  expect(before.text).toMatch(/State (queued|running)/);
  const after = await customer.visitor.post(`${address}/cancel`, {});
  await souk.addWorker();
  expect(after.path).toBe(address);
  expect(after.text).toContain('State cancelled');
  expect(after.html).not.toContain('data-refresh');
  expect((await customer.visitor.get(`${address}/result`)).status).toBe(409);
});

/** Makes the answers of all calls expire. */
async function expireAnswers(): Promise<void> {
  const names = await redis.keys(`${souk.redisNamespace}:answer:*`);
  await redis.del(...names);
  // A lost answer is made again only for a few minutes.
  souk.clock.advance(6 * 60_000);
}

test('says that an answer has expired, and fetches it again for the stated price', async () => {
  const asins = [newAsin(), newAsin()];
  const job = await called(`/api/market/product?domain=1&asins=${asins.join()}`);
  await expireAnswers();
  const page = await customer.visitor.get(`/account/jobs/${job}`);
  expect(page.text).toContain('This answer has expired.');
  expect(page.text).toContain('Fetch again (2 units)');
  expect(page.text).not.toContain('Run again');
  expect(page.html).not.toContain('data-answer');
  expect((await customer.visitor.get(`/account/jobs/${job}/result`)).status).toBe(410);
  const again = await customer.visitor.post(`/account/jobs/${job}/again`, {});
  expect(again.path).toMatch(/^\/account\/jobs\/[0-9a-f-]{36}$/);
  expect(again.path).not.toContain(job);
  const id = again.path.split('/').at(-1);
  const result = await customer.client.get(`/api/jobs/${id}/result?wait=30`);
  expect(result.json.data.products).toMatchObject(asins.map((asin) => ({ asin })));
  expect(result.headers['x-units-charged']).toBe('2');
});

test('shows the parameters of a call, how other programs make it, and makes it again', async () => {
  const asin = newAsin();
  const job = await called(`/api/market/product?domain=1&asins=${asin}`);
  expect((await customer.visitor.get(`/account/jobs?contains=${asin}`)).text).toContain(`asins=${asin} `);
  const page = await customer.visitor.get(`/account/jobs/${job}`);
  expect(page.text).toContain('Run again (1 unit)');
  for (const part of ['import requests', 'await fetch(', 'curl -H', 'Repeat on a schedule'])
    expect(page.text).toContain(part);
  souk.clock.advance(6 * 60_000);
  const again = await customer.visitor.post(`/account/jobs/${job}/again`, {});
  expect([again.path.startsWith('/account/jobs/'), again.path.endsWith(job)]).toEqual([true, false]);
});

test('makes a call for a table again in the same form', async () => {
  const job = await called(`/api/market/product?domain=1&asins=${newAsin()}&format=csv&table=history`);
  const page = await customer.visitor.get(`/account/jobs/${job}`);
  const [, schedule = ''] = /href="([^"]*\/schedules\/new[^"]*)"/.exec(page.html) ?? [];
  expect(new URL(schedule.replaceAll('&amp;', '&'), 'http://a').searchParams.get('items')).not.toContain(
    'csv',
  );
  souk.clock.advance(6 * 60_000);
  const again = await customer.visitor.post(`/account/jobs/${job}/again`, {});
  expect([again.path.startsWith('/account/jobs/'), again.path.endsWith(job)]).toEqual([true, false]);
  const result = await customer.client.get(`/api/jobs/${again.path.split('/').at(-1)}/result?wait=30`);
  expect([result.status, result.headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8']);
});

test('filters the list by key and by the time of acceptance', async () => {
  const early = await called();
  souk.clock.advance(2 * 3_600_000);
  const late = await called();
  const found = async (query: string) => {
    const { html } = await customer.visitor.get(`/account/jobs?${query}`);
    return [early, late].map((job) => html.includes(`/account/jobs/${job}"`));
  };
  expect(await found('within=hour')).toEqual([false, true]);
  expect(await found('within=day')).toEqual([true, true]);
  const between = new Date(souk.clock.now() - 3_600_000).toISOString();
  // A browser without scripts sends the minute, without a zone.
  for (const time of [between, between.slice(0, 16)]) {
    expect(await found(`to=${time}`)).toEqual([true, false]);
    expect(await found(`from=${time}`)).toEqual([false, true]);
  }
  expect(await found('keyId=1')).toEqual([false, false]);
  expect((await customer.visitor.get('/account/jobs?from=yesterday')).status).toBe(400);
});

test('says where the answer of a call came from, what it cost, and when its moments were', async () => {
  const asin = newAsin();
  const page = async (job: string) => (await customer.visitor.get(`/account/jobs/${job}`)).text;
  const fetched = await page(await called(`/api/market/product?domain=1&asins=${asin}`));
  for (const part of [
    ...['Answered from The data provider.', '1, from the plan', 'Accepted and queued', 'Data provider asked'],
    ...['Data provider answered', 'Settled', 'The waiting request received the answer'],
  ])
    expect(fetched).toContain(part);
  const other = await signedIn(souk);
  const { headers } = await other.client.get(`/api/market/product?domain=1&asins=${asin}`);
  const cached = (await other.visitor.get(`/account/jobs/${headers['x-job-id']}`)).text;
  expect(cached).toContain('Answered from The cache');
  expect(cached).not.toContain('Data provider asked');
});

test('groups errors by code and operation, with what to do', async () => {
  souk.upstream.on('product', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
  for (let i = 0; i < 2; i += 1)
    expect((await customer.client.get(`/api/market/product?domain=1&asins=${newAsin()}`)).status).toBe(502);
  const errors = async (days: number) =>
    (await customer.visitor.get(`/account/jobs/errors?days=${days}`)).text;
  expect(await errors(1)).toMatch(/UPSTREAM_ERROR ?market\.product ?2 ?0/);
  expect(await errors(1)).toContain('Retry after a minute.');
  souk.clock.advance(25 * 3_600_000);
  expect(await errors(1)).toContain('No call has failed in the last 24 hours.');
  expect(await errors(7)).toContain('UPSTREAM_ERROR');
});

test('says that an answer from the cache has expired, and makes no call without its parameters', async () => {
  const path = `/api/market/product?domain=1&asins=${newAsin()}`;
  await (await souk.client()).get(path);
  const job = await called(path);
  await expireAnswers();
  const { text, html } = await customer.visitor.get(`/account/jobs/${job}`);
  expect(text).toContain('This answer has expired. The call was answered from the cache');
  expect(html).toContain('href="/account/try?operation=market.product"');
  expect((await customer.visitor.post(`/account/jobs/${job}/again`, {})).path).toBe(`/account/jobs/${job}`);
});
