import { expect } from 'vitest';
import { addKey } from '../../../src/accounts/account-keys.ts';
import { createKey } from '../../../src/accounts/authentication.ts';
import { WITHOUT_LIMITS } from '../../../src/accounts/key-settings.ts';
import { DAY_MS } from '../../../src/platform/durations.ts';
import { holdProducts, knowsEveryProduct, newAsin } from '../../support/answers.ts';
import { openBackground } from '../../support/background.ts';
import type { Client } from '../../support/client.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';
import { stopWorkers } from '../../support/workers.ts';

test.beforeAll(({ souk }) => souk.upstream.on('category', () => ({ json: { categories: {} } })));

interface Page {
  jobs: { jobId: string; state: string; operation: string }[];
  nextCursor: string | null;
}

async function list(client: Client, query = '', as = client): Promise<Page> {
  const { status, json } = await as.get(`/api/jobs${query}`);
  expect(status).toBe(200);
  return json.data;
}

const ids = ({ jobs }: Page) => jobs.map(({ jobId }) => jobId);

async function newJob(
  client: Client,
  path = `/api/market/product?domain=1&asins=${newAsin()}`,
): Promise<string> {
  return (await client.get(`${path}&async=1`)).json.data.jobId;
}

async function doneJob(client: Client, path?: string): Promise<string> {
  const job = await newJob(client, path);
  await client.get(`/api/jobs/${job}?wait=30`);
  return job;
}

test('lists the calls of an account, newest first, as GET /api/jobs/{id} returns them, for free', async ({
  client,
}) => {
  const asynchronous = await doneJob(client);
  const { headers } = await client.get(`/api/market/product?domain=1&asins=${newAsin()}`);
  const cached = await client.get(`/api/market/product?domain=1&asins=${newAsin()}`);
  const used = await unitsUsed(client);
  const page = await list(client);
  expect(ids(page)).toEqual([cached.headers['x-job-id'], headers['x-job-id'], asynchronous]);
  for (const job of page.jobs) expect((await client.get(`/api/jobs/${job.jobId}`)).json.data).toEqual(job);
  expect(await unitsUsed(client)).toBe(used);
});

test('lists the same jobs for all keys of an account, none for another account', async ({ souk, client }) => {
  const { accountId, key } = await souk.account();
  client = souk.clientOf(key);
  const job = await doneJob(client);
  expect(ids(await list(client, '', await souk.client()))).toEqual([]);
  const other = souk.clientOf(await createKey(souk.database, accountId, souk.clock.now()));
  expect(ids(await list(client, '', other))).toEqual([job]);
});

test('filters by state and by operation', async ({ souk, client }) => {
  const done = await doneJob(client);
  souk.upstream.on('product', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
  const failed = await doneJob(client);
  const category = await doneJob(client, '/api/market/category?domain=1&category=0');
  const open = holdProducts(souk.upstream);
  await stopWorkers(souk);
  const cancelled = await newJob(client);
  await client.get(`/api/jobs/${cancelled}`, { method: 'DELETE' });
  await souk.addWorker();
  const running = await newJob(client);
  await expect.poll(async () => (await client.get(`/api/jobs/${running}`)).json.data.state).toBe('running');
  for (const [query, expected] of [
    ['?state=done', [category, done]],
    ['?state=failed', [failed]],
    ['?state=cancelled', [cancelled]],
    ['?state=running', [running]],
    ['?state=queued', []],
    ['?operation=market.category', [category]],
    ['?operation=market.category&state=failed', []],
    ['?operation=market.product&state=done', [done]],
    ['?operation=market.seller', []],
  ] as const) {
    expect({ query, found: ids(await list(client, query)) }).toEqual({ query, found: expected });
  }
  // A page of failed jobs does not count cancelled ones.
  expect(ids(await list(client, '?state=failed&limit=1'))).toEqual([failed]);
  open();
});

test('finds calls by a part of their parameters, in either case, which it shows unless they are long', async ({
  client,
}) => {
  const [asin, ...others] = Array.from({ length: 100 }, () => newAsin());
  const job = await doneJob(client, `/api/market/product?domain=1&asins=${asin}`);
  const large = await doneJob(
    client,
    `/api/market/product?domain=1&asins=${others.join()}&fields=${'products.title,'.repeat(70)}products.asin`,
  );
  const found = async (contains: string) => (await list(client, `?contains=${contains}`)).jobs;
  expect(await found(asin?.toLowerCase() ?? '')).toMatchObject([
    { jobId: job, params: expect.objectContaining({ asins: [asin] }) },
  ]);
  expect(await found(others[3] ?? '')).toMatchObject([{ jobId: large }]);
  expect(await found('100%')).toEqual([]);
  for (const wrong of ['x'.repeat(101), '%20', '%00a', 'a%0Ab'])
    expect(await client.get(`/api/jobs?contains=${wrong}`)).toMatchObject({ status: 400 });
});

test('filters by key and by the time of acceptance', async ({ souk, client: _ }) => {
  const { accountId, key } = await souk.account();
  const first = souk.clientOf(key);
  const other = await addKey(souk.database, accountId, {
    settings: { ...WITHOUT_LIMITS, name: 'Other' },
    createdBy: null,
    now: souk.clock.now(),
  });
  const early = await doneJob(first);
  const { createdAt, keyId } = (await first.get(`/api/jobs/${early}`)).json.data;
  souk.clock.advance(60_000);
  const late = await doneJob(souk.clientOf(other.key));
  const after = new Date(Date.parse(createdAt) + 1).toISOString();
  for (const [query, expected] of [
    [`?keyId=${keyId}`, [early]],
    [`?keyId=${other.id}`, [late]],
    [`?keyId=${other.id + 1000}`, []],
    [`?to=${createdAt}`, [early]],
    [`?from=${after}`, [late]],
    [`?from=${createdAt}&to=${new Date(souk.clock.now()).toISOString()}`, [late, early]],
    [`?from=${createdAt.replace('Z', '%2B00:00')}&keyId=${keyId}`, [early]],
    ['?to=0001-01-01T00:00:00Z', []],
    ['?from=9999-12-31T23:59:59Z&to=9999-12-31T23:59:59Z', []],
  ] as const)
    expect({ query, found: ids(await list(first, query)) }).toEqual({ query, found: expected });
  const reversed = await first.get('/api/jobs?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z');
  expect(reversed).toMatchObject({ status: 400, json: { msg: 'to: must not be before from' } });
});

test('a job has the times at which its source was asked and answered, one from the cache has none', async ({
  souk,
  client,
}) => {
  souk.upstream.on('product', knowsEveryProduct);
  const path = `/api/market/product?domain=1&asins=${newAsin()}`;
  const fetched = (await client.get(`/api/jobs/${await doneJob(client, path)}`)).json.data;
  const times = [
    fetched.createdAt,
    ...[fetched.startedAt, fetched.askedAt, fetched.answeredAt, fetched.finishedAt],
  ];
  expect(times).toEqual(times.toSorted((a, b) => (a < b ? -1 : 1)));
  expect(times).not.toContain(null);
  const other = await souk.client();
  const { headers } = await other.get(path);
  expect((await other.get(`/api/jobs/${headers['x-job-id']}`)).json.data).toMatchObject({
    ...{ state: 'done', startedAt: null, askedAt: null, answeredAt: null },
  });
  souk.upstream.on('product', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
  const failed = (await client.get(`/api/jobs/${await doneJob(client)}`)).json.data;
  expect(failed).toMatchObject({ state: 'failed', askedAt: expect.any(String), answeredAt: null });
  souk.upstream.on('product', knowsEveryProduct);
});

test('lists a job for a week', async ({ souk, client }) => {
  const job = await doneJob(client);
  souk.clock.advance(7 * DAY_MS);
  expect(ids(await list(client))).toEqual([job]);
  souk.clock.advance(1);
  expect(ids(await list(client))).toEqual([]);
  await souk.addWorker();
});

test('leaves out the calls of batches', async ({ souk, client }) => {
  const account = await souk.account();
  client = souk.clientOf(account.key);
  const background = await openBackground(souk);
  const callId = await background.submit(account, { domain: '1', asins: newAsin() });
  expect((await client.get(`/api/jobs/${callId}?wait=30`)).json.data.state).toBe('done');
  const job = await doneJob(client);
  expect(ids(await list(client))).toEqual([job]);
  await background.close();
});

test.for([
  ['state=waiting', 'state'],
  ['operation=market.nothing', 'operation'],
  ['keyId=x', 'keyId'],
  ['from=yesterday', 'from'],
  ['to=2026-01-31T09:00', 'to'],
] as const)('refuses ?%s, and names the parameter', async ([query, parameter], { client }) => {
  const reply = await client.get(`/api/jobs?${query}`);
  expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
  expect(reply.json.metadata).toMatchObject({ errors: [{ parameter }] });
});
