import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createKey } from '../../../src/accounts/keys.ts';
import { knowsEveryProduct, newAsin } from '../../support/answers.ts';
import { openBackground } from '../../support/background.ts';
import type { Client } from '../../support/client.ts';
import { gate } from '../../support/scripted-upstream.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { unitsUsed } from '../../support/units.ts';

let souk: Souk;
let client: Client;
beforeAll(async () => {
  souk = await openSouk();
});
afterAll(() => souk.close());
beforeEach(async () => {
  souk.upstream.calls.length = 0;
  souk.upstream.on('product', knowsEveryProduct);
  souk.upstream.on('category', () => ({ json: { categories: {} } }));
  client = await souk.client();
});

interface Page {
  jobs: { jobId: string; state: string; operation: string }[];
  nextCursor: string | null;
}

async function list(query = '', as = client): Promise<Page> {
  const { status, json } = await as.get(`/api/jobs${query}`);
  expect(status).toBe(200);
  return json.data;
}

const ids = ({ jobs }: Page) => jobs.map(({ jobId }) => jobId);

async function newJob(path = `/api/market/product?domain=1&asins=${newAsin()}`): Promise<string> {
  return (await client.get(`${path}&async=1`)).json.data.jobId;
}

async function doneJob(path?: string): Promise<string> {
  const job = await newJob(path);
  await client.get(`/api/jobs/${job}?wait=30`);
  return job;
}

test('an account without calls has no jobs', async () => {
  expect(await list()).toEqual({ jobs: [], nextCursor: null });
});

test('an account sees its calls, the newest first, each as by itself, and looking is free', async () => {
  const asynchronous = await doneJob();
  const { headers } = await client.get(`/api/market/product?domain=1&asins=${newAsin()}`);
  const cached = await client.get(`/api/market/product?domain=1&asins=${newAsin()}`);
  const used = await unitsUsed(client);
  const page = await list();
  expect(ids(page)).toEqual([cached.headers['x-job-id'], headers['x-job-id'], asynchronous]);
  for (const job of page.jobs) expect((await client.get(`/api/jobs/${job.jobId}`)).json.data).toEqual(job);
  expect(await unitsUsed(client)).toBe(used);
});

test('another account sees nothing of them, another key of the same account everything', async () => {
  const { accountId, key } = await souk.account();
  client = souk.clientOf(key);
  const job = await doneJob();
  expect(ids(await list('', await souk.client()))).toEqual([]);
  const other = souk.clientOf(await createKey(souk.database, accountId, souk.clock.now()));
  expect(ids(await list('', other))).toEqual([job]);
});

test('pages follow one another without gap or repetition, also when jobs are added meanwhile', async () => {
  const jobs: string[] = [];
  for (let i = 0; i < 7; i += 1) jobs.unshift(await doneJob());
  const first = await list('?limit=3');
  await doneJob();
  const second = await list(`?limit=3&cursor=${first.nextCursor}`);
  const third = await list(`?limit=3&cursor=${second.nextCursor}`);
  expect([first, second, third].map((page) => page.jobs.length)).toEqual([3, 3, 1]);
  expect([first, second, third].flatMap(ids)).toEqual(jobs);
  expect(third.nextCursor).toBeNull();
});

test('a last page that is full has no cursor', async () => {
  await doneJob();
  await doneJob();
  const { jobs, nextCursor } = await list('?limit=2');
  expect([jobs.length, nextCursor]).toEqual([2, null]);
});

test('jobs are found by state and by operation', async () => {
  const done = await doneJob();
  souk.upstream.on('product', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
  const failed = await doneJob();
  const category = await doneJob('/api/market/category?domain=1&category=0');
  const { reached, open } = gate();
  souk.upstream.on('product', async (...call) => {
    await reached;
    return knowsEveryProduct(...call);
  });
  const cancelled = await newJob();
  await client.get(`/api/jobs/${cancelled}`, { method: 'DELETE' });
  const running = await newJob();
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
    expect({ query, found: ids(await list(query)) }).toEqual({ query, found: expected });
  }
  // A page of failed ones is not thinned out by cancelled ones.
  expect(ids(await list('?state=failed&limit=1'))).toEqual([failed]);
  open();
});

test('jobs are listed for a day', async () => {
  const job = await doneJob();
  souk.clock.advance(24 * 3_600_000);
  expect(ids(await list())).toEqual([job]);
  souk.clock.advance(1);
  expect(ids(await list())).toEqual([]);
  await souk.addWorker();
});

test('calls of batches are left out', async () => {
  const account = await souk.account();
  client = souk.clientOf(account.key);
  const background = await openBackground(souk);
  const callId = await background.submit(account, { domain: '1', asins: newAsin() });
  expect((await client.get(`/api/jobs/${callId}?wait=30`)).json.data.state).toBe('done');
  const job = await doneJob();
  expect(ids(await list())).toEqual([job]);
  await background.close();
});

test.each([
  ['state=waiting', 'state'],
  ['operation=market.nothing', 'operation'],
  ['limit=0', 'limit'],
  ['limit=101', 'limit'],
  ['limit=some', 'limit'],
  ['cursor=yesterday', 'cursor'],
])('?%s is refused, by name', async (query, parameter) => {
  const reply = await client.get(`/api/jobs?${query}`);
  expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
  expect(reply.json.metadata).toMatchObject({ errors: [{ parameter }] });
  expect((await client.raw(`/api/jobs?${query}`)).status).toBe(401);
});
