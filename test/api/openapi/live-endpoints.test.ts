import { expect, onTestFinished } from 'vitest';
import { addKey } from '../../../src/accounts/account-keys.ts';
import { WITHOUT_LIMITS } from '../../../src/accounts/key-settings.ts';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import { addFile, writeContent } from '../../../src/results/files.ts';
import { knowsEveryProduct, newAsin } from '../../support/answers.ts';
import { finished } from '../../support/batches.ts';
import type { Client } from '../../support/client.ts';
import { conforming, createConformance } from '../../support/conformance.ts';
import { openReceiver } from '../../support/receiver.ts';
import type { Souk } from '../../support/souk.ts';
import { test as base } from '../../support/souk-test.ts';
import { everyTwoHours, hasProducts, nextLook } from '../../support/trackers.ts';
import { sendDue } from '../../support/webhooks.ts';
import { stopWorkers } from '../../support/workers.ts';

/** Compares each answer of the endpoints that are not operations with the document. */
const conformance = createConformance(openApiDocument());

const UNKNOWN = '019b2c3d-4e5f-7a6b-8c7d-9e0f1a2b3c4d';
/** Each answer to the client is compared with the document. */
const test = base.extend('client', ({ souk, account, upstream: _ }) =>
  conforming(souk.clientOf(account.key), conformance),
);

const del = (client: Client, path: string) => client.get(path, { method: 'DELETE' });
const patch = (client: Client, path: string, body: unknown) =>
  client.get(path, { method: 'PATCH', ...json(body) });
const json = (body: unknown) => ({
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});

test('the endpoints of keys answer as documented', async ({ souk, account }) => {
  const settings = { ...WITHOUT_LIMITS, scopes: ['keys', 'read'] as const };
  const given = { settings, createdBy: null, now: souk.clock.now() };
  const { key } = await addKey(souk.database, account.accountId, given);
  const client = conforming(souk.clientOf(key), conformance);
  const made = await client.post('/api/keys', { scopes: ['read'], capMonth: 9, networks: ['10.0.0.0/8'] });
  const self = made.headers.location ?? '';
  expect((await client.get('/api/keys')).json.data.keys).toHaveLength(3);
  expect((await client.get(self)).json.data.capMonth).toBe(9);
  expect((await patch(client, self, { expiresAt: '2099-01-01T00:00:00Z' })).status).toBe(200);
  expect((await patch(client, self, { scopes: ['deals'] })).json.code).toBe('KEY_RIGHTS_EXCEEDED');
  expect((await patch(client, self, { expiresAt: 'soon' })).status).toBe(400);
  expect((await del(client, self)).json.data.state).toBe('revoked');
  expect((await client.get('/api/audit?limit=1')).json.data.audit).toMatchObject([{ action: 'key.revoked' }]);
  expect((await client.get('/api/quota')).json.data.key.scopes).toEqual(['keys', 'read']);
  for (const path of ['/api/keys/999999', '/api/keys/x']) {
    expect((await client.get(path)).json.code).toBe('KEY_NOT_FOUND');
    expect((await del(client, path)).json.code).toBe('KEY_NOT_FOUND');
    expect((await patch(client, path, {})).json.code).toBe('KEY_NOT_FOUND');
  }
});

test('the endpoints of jobs answer as documented', async ({ souk, client, redis }) => {
  const call = (asin = newAsin()) => client.get(`/api/market/product?domain=1&asins=${asin}&async=1`);
  const named = { operation: 'market.product', params: { domain: 1, asins: [newAsin()] } };
  expect((await client.post('/api/jobs/quote', named)).json.data).toMatchObject({ units: 1, admitted: true });
  const made = await client.post('/api/jobs', named);
  expect(made.headers.location).toBe(made.json.data.links.self);
  const joined = await client.post('/api/market/product?async=1', named.params);
  expect(joined.json.data.jobId).toBe(made.json.data.jobId);
  for (const path of ['/api/jobs', '/api/jobs/quote']) {
    expect((await client.post(path, { ...named, operation: 'x' })).json.code).toBe('VALIDATION_FAILED');
    expect((await client.post(path, { ...named, params: {} })).json.metadata?.errors).toHaveLength(2);
  }
  expect((await client.post('/api/jobs', { ...named, webhook: 'x' })).status).toBe(400);
  expect((await client.post('/api/jobs', { ...named, maxUnits: 0 })).json.code).toBe('QUOTA_MAX_UNITS');
  const { jobId } = (await call()).json.data;
  expect((await client.get(`/api/jobs/${jobId}?wait=30`)).json.data.state).toBe('done');
  expect((await client.get(`/api/jobs/${jobId}/result`)).status).toBe(200);
  expect((await client.get(`/api/jobs/${jobId}/events`)).text).toContain('event: end');
  expect((await client.get('/api/jobs?limit=1')).json.data.jobs).toHaveLength(1);
  expect((await client.get('/api/jobs?state=dreaming')).status).toBe(400);
  expect((await client.get('/api/jobs/x/result')).json.code).toBe('JOB_NOT_FOUND');

  const cached = `/api/market/product?domain=1&asins=${newAsin()}`;
  await (await souk.client()).get(cached);
  const expired = (await client.get(cached)).headers['x-job-id'];
  await redis.del(...(await redis.keys(`${souk.redisNamespace}:answer:*`)));
  expect((await client.get(`/api/jobs/${expired}/result`)).json.code).toBe('RESULT_EXPIRED');

  for (const end of ['', '/events']) {
    expect((await client.get(`/api/jobs/${UNKNOWN}${end}`)).json.code).toBe('JOB_NOT_FOUND');
  }
  expect((await del(client, `/api/jobs/${UNKNOWN}`)).json.code).toBe('JOB_NOT_FOUND');

  await stopWorkers(souk);
  const asin = newAsin();
  const held = (await call(asin)).json.data.jobId;
  expect((await client.get(`/api/jobs/${held}`)).json.data.state).toBe('queued');
  expect((await client.get(`/api/jobs/${held}/result`)).status).toBe(202);
  expect((await del(client, `/api/jobs/${held}`)).json.data.state).toBe('cancelled');
  expect((await client.get(`/api/jobs/${held}/result`)).json.code).toBe('CANCELLED');
  const wanted = newAsin();
  const shared = (await call(wanted)).json.data.jobId;
  await call(wanted);
  expect((await del(client, `/api/jobs/${shared}`)).json.code).toBe('JOB_SHARED');
  const waiting = client.get(`/api/market/product?domain=1&asins=${newAsin()}`);
  await expect.poll(async () => (await client.get('/api/jobs?state=queued')).json.data.jobs.length).toBe(2);
  const [newest] = (await client.get('/api/jobs?state=queued')).json.data.jobs;
  await del(client, `/api/jobs/${newest.jobId}`);
  expect((await waiting).json.code).toBe('CANCELLED');
  await souk.addWorker();

  souk.upstream.on('product', () => ({ status: 400, json: { error: {} } }));
  const failing = (await call()).json.data.jobId;
  await client.get(`/api/jobs/${failing}?wait=30`);
  expect((await client.get(`/api/jobs/${failing}/result`)).status).toBe(502);
  souk.upstream.on('product', knowsEveryProduct);
});

test('the endpoints of batches answer as documented', async ({ souk, client }) => {
  const document = (asins: string[]) => ({
    operation: 'market.product',
    params: { domain: 1, detailLevel: 'summary' },
    split: { asins },
  });
  const first = document([newAsin(), newAsin()]);
  const batchQuote = await client.post('/api/batches/quote', first);
  expect(batchQuote.json.data.units).toBe(2);
  // The document describes a quote at its own address only.
  const undocumented = souk.clientOf(client.key);
  expect((await undocumented.post('/api/batches?dryRun=1', first)).json).toEqual(batchQuote.json);
  const batch = (await client.post('/api/batches', { ...first, idempotencyKey: 'once' })).json.data;
  expect((await client.post('/api/batches', { ...first, name: 'n', idempotencyKey: 'once' })).status).toBe(
    409,
  );
  expect((await client.post('/api/batches', { ...first, maxUnits: 1 })).status).toBe(429);
  expect((await client.post('/api/batches', { operation: 'x' })).status).toBe(400);
  expect((await client.post('/api/batches', 'x', { headers: { 'content-type': 'text/plain' } })).status).toBe(
    415,
  );
  const lines = { headers: { 'content-type': 'application/x-ndjson' } };
  const line = `${JSON.stringify({ domain: 1, asins: [newAsin()] })}\n`;
  expect((await client.post('/api/batches?operation=market.product&name=n', line, lines)).status).toBe(202);
  await finished(client, batch);
  expect((await client.get('/api/batches?limit=1&state=done')).json.data.batches).toHaveLength(1);
  const { links } = batch;
  expect((await client.get(links.results)).text).toContain('"index":0');
  expect((await client.get(`${links.results}?format=csv`)).headers['content-type']).toContain('text/csv');
  expect((await client.get(`${links.self}/changes`)).text).toBe('');
  expect((await client.get(`${links.self}/changes?format=pdf`)).status).toBe(400);
  expect((await client.get(`/api/batches/${UNKNOWN}/changes`)).json.code).toBe('BATCH_NOT_FOUND');
  expect((await client.get(`${links.results}?order=random`)).status).toBe(400);
  expect((await client.post(links.retry, {})).json.code).toBe('BATCH_STATE');
  expect((await del(client, links.self)).status).toBe(200);
  expect((await client.get(`/api/batches/${UNKNOWN}`)).json.code).toBe('BATCH_NOT_FOUND');
  expect((await client.get(`/api/batches/${UNKNOWN}/results`)).json.code).toBe('BATCH_NOT_FOUND');
  expect((await client.post(`/api/batches/${UNKNOWN}/retry`, {})).json.code).toBe('BATCH_NOT_FOUND');
  expect((await del(client, `/api/batches/${UNKNOWN}`)).json.code).toBe('BATCH_NOT_FOUND');

  souk.upstream.on('product', () => ({ json: { products: [] } }));
  const unknown = { operation: 'market.variations', items: [{ domain: 1, asin: newAsin() }] };
  const failing = (await client.post('/api/batches', unknown)).json.data;
  await finished(client, failing);
  expect((await client.post(failing.links.retry, {})).status).toBe(202);
  await finished(client, failing);
  souk.upstream.on('product', knowsEveryProduct);
});

/** Starts a run of a schedule that has an unfinished batch. @returns the status. */
async function runWhileRunning({ database }: Souk, client: Client, scheduleId: string, path: string) {
  const { rows } = await database.query<{ id: string }>(
    `insert into batches (id, account_id, operation, state, feed_window, item_count, units_quoted, request_hash,
       schedule_id, created_at, deadline_at)
     select gen_random_uuid(), account_id, operation, 'running', 'any', 1, 1, '', id, now(), now() + interval '10 years'
     from schedules where id = $1 returning id`,
    [scheduleId],
  );
  const { status } = await client.post(path, {});
  await database.query('delete from batches where id = $1', [rows[0]?.id]);
  return status;
}

/** Stores a file of an account, as a job does. @returns its address. */
async function storeFile({ database, clock }: Souk, accountId: number): Promise<string> {
  async function* rows() {
    yield Buffer.from('rank,keyword\n1,lamp\n');
  }
  const now = clock.now();
  const content = { key: UNKNOWN, contentType: 'text/csv; charset=utf-8', isGzip: true, now: clock.now };
  const { contentId } = await writeContent(database, content, rows());
  const about = { accountId, contentId, operation: 'market.product', originId: UNKNOWN, name: 'a.csv' };
  const file = await addFile(database, { ...about, createdAt: now, expiresAt: now + 60_000 });
  return `/api/files/${file?.fileId}`;
}

test('results in parts, files and links answer as documented', async ({ souk, account, client, redis }) => {
  const product = await client.get(`/api/market/product?domain=1&asins=${newAsin()}`);
  const id = product.headers['x-job-id'] ?? '';
  const split = { operation: 'market.product', params: { domain: 1 }, split: { asins: [newAsin()] } };
  const batch = (await client.post('/api/batches', split)).json.data;
  await finished(client, batch);
  const file = await storeFile(souk, account.accountId);
  for (const path of [`/api/jobs/${id}/result`, batch.links.results, file]) {
    const { headers, status } = await client.get(path, { headers: { 'accept-encoding': 'identity' } });
    expect(status).toBe(200);
    const conditions = [
      { range: 'bytes=0-3' },
      { 'if-none-match': headers.etag ?? '' },
      { range: 'bytes=9999999-' },
    ];
    const replies = await Promise.all(conditions.map((sent) => client.get(path, { headers: sent })));
    expect(replies.map((reply) => reply.status)).toEqual([206, 304, 416]);
  }
  expect((await client.get(`/api/files/${UNKNOWN}`)).json.code).toBe('FILE_NOT_FOUND');
  const link = await client.post('/api/links', { target: 'job', id });
  expect([link.status, link.headers.location]).toEqual([201, `/api/links/${link.json.data.linkId}`]);
  expect((await client.get('/api/links')).json.data.links).toHaveLength(1);
  expect((await del(client, `/api/links/${link.json.data.linkId}`)).status).toBe(200);
  expect((await del(client, `/api/links/${UNKNOWN}`)).json.code).toBe('LINK_NOT_FOUND');
  expect((await client.post('/api/links', { target: 'batch', id: UNKNOWN })).json.code).toBe(
    'BATCH_NOT_FOUND',
  );
  const waiting = (await client.post('/api/batches', { ...split, window: 'off_peak' })).json.data;
  const early = await client.post('/api/links', { target: 'batch', id: waiting.batchId });
  expect(early.json.code).toBe('RESULT_NOT_READY');
  await redis.del(...(await redis.keys(`${souk.redisNamespace}:answer:*`)));
  expect((await client.post('/api/links', { target: 'job', id })).json.code).toBe('RESULT_EXPIRED');
});

test('the endpoints of schedules answer as documented', async ({ souk, client }) => {
  const schedule = {
    name: 'Every Monday',
    cron: '0 6 * * 1',
    batch: { operation: 'market.product', items: [{ domain: 1, asins: [newAsin()] }] },
  };
  const scheduleQuote = await client.post('/api/schedules/quote', schedule);
  expect(scheduleQuote.json.data).toMatchObject({ dryRun: true, name: 'Every Monday' });
  // The document describes a quote at its own address only.
  const undocumented = souk.clientOf(client.key);
  const shortForm = await undocumented.post('/api/schedules?dryRun=1', schedule);
  expect(Object.keys(shortForm.json.data)).toEqual(Object.keys(scheduleQuote.json.data));
  expect((await client.post('/api/schedules', { ...schedule, cron: 'x' })).status).toBe(400);
  const dear = { ...schedule, batch: { ...schedule.batch, maxUnits: 0 } };
  expect((await client.post('/api/schedules', dear)).status).toBe(429);
  const made = await client.post('/api/schedules', schedule);
  expect(made.status).toBe(201);
  const { links } = made.json.data;
  expect((await client.get(links.self)).json.data.name).toBe('Every Monday');
  expect((await client.get('/api/schedules?limit=1')).json.data.schedules).toHaveLength(1);
  expect((await patch(undocumented, `${links.self}?dryRun=1`, { name: 'x' })).json.data.dryRun).toBe(true);
  expect((await patch(client, links.self, { name: 'Mondays' })).json.data.name).toBe('Mondays');
  expect((await patch(client, links.self, { moon: 1 })).status).toBe(400);
  expect((await patch(client, links.self, dear)).status).toBe(429);
  const { batch } = (await client.post(links.run, {})).json.data;
  await finished(client, batch);
  expect(await runWhileRunning(souk, client, made.json.data.scheduleId, links.run)).toBe(409);
  expect((await client.get(`${links.runs}?limit=5`)).json.data.runs).toHaveLength(1);
  expect((await client.get(`${links.runs}?limit=x`)).status).toBe(400);
  expect((await del(client, links.self)).json.data.deleted).toBe(true);
  for (const end of ['', '/runs']) {
    expect((await client.get(`/api/schedules/${UNKNOWN}${end}`)).json.code).toBe('SCHEDULE_NOT_FOUND');
  }
  expect((await client.post(`/api/schedules/${UNKNOWN}/run`, {})).json.code).toBe('SCHEDULE_NOT_FOUND');
  expect((await patch(client, `/api/schedules/${UNKNOWN}`, {})).json.code).toBe('SCHEDULE_NOT_FOUND');
  expect((await del(client, `/api/schedules/${UNKNOWN}`)).json.code).toBe('SCHEDULE_NOT_FOUND');
});

test('the endpoints of trackers answer as documented', async ({ souk, client, upstream }) => {
  const asin = newAsin();
  upstream.on('product', hasProducts(new Map([[asin, { new: 1500 }]])));
  const tracker = everyTwoHours([asin], { alertAtStart: true });
  expect((await client.post('/api/trackers/quote', tracker)).json.data.dryRun).toBe(true);
  expect((await client.post('/api/trackers', { ...tracker, cron: 'x' })).status).toBe(400);
  expect((await client.post('/api/trackers', { ...tracker, maxUnits: 0 })).status).toBe(429);
  const made = await client.post('/api/trackers', tracker);
  expect([made.status, made.headers.location]).toEqual([201, made.json.data.links.self]);
  const { links } = made.json.data;
  expect(await nextLook(souk, client, made.json.data)).toHaveLength(1);
  expect((await client.get(links.self)).json.data.lastRun.state).toBe('finished');
  expect((await client.get('/api/trackers?limit=1')).json.data.trackers).toHaveLength(1);
  expect((await client.get('/api/trackers/values?limit=1')).json.data.values).toHaveLength(1);
  expect((await client.get('/api/trackers/values?cursor=x')).status).toBe(400);
  expect((await client.get(`${links.alerts}?limit=x`)).status).toBe(400);
  expect((await client.post(`${links.self}/run`, {})).json.data.run.trigger).toBe('manual');
  expect(await runWhileRunning(souk, client, made.json.data.trackerId, `${links.self}/run`)).toBe(409);
  expect((await patch(client, links.self, { name: 'Cheap' })).json.data.name).toBe('Cheap');
  expect((await patch(client, links.self, { maxUnits: 0 })).status).toBe(429);
  expect((await del(client, links.self)).json.data.deleted).toBe(true);
  for (const end of ['', '/alerts'])
    expect((await client.get(`/api/trackers/${UNKNOWN}${end}`)).json.code).toBe('TRACKER_NOT_FOUND');
  expect((await client.post(`/api/trackers/${UNKNOWN}/run`, {})).json.code).toBe('TRACKER_NOT_FOUND');
  expect((await patch(client, `/api/trackers/${UNKNOWN}`, {})).json.code).toBe('TRACKER_NOT_FOUND');
  expect((await del(client, `/api/trackers/${UNKNOWN}`)).json.code).toBe('TRACKER_NOT_FOUND');
  upstream.on('product', knowsEveryProduct);
});

test('the endpoints of billing answer as documented', async ({ client }) => {
  await client.get(`/api/market/product?domain=1&asins=${newAsin()}`);
  expect((await client.get('/api/usage')).json.data.calls).toBeGreaterThan(0);
  expect((await client.get('/api/usage?from=x')).status).toBe(400);
  expect((await client.get('/api/ledger?limit=1')).json.data.ledger).toHaveLength(1);
  expect((await client.get('/api/ledger?kind=x')).status).toBe(400);
});

test('the endpoints of webhooks answer as documented', async ({ souk, client }) => {
  const receiver = await openReceiver();
  onTestFinished(() => receiver.close());
  const url = `${receiver.url}/hook`;
  expect((await client.get('/api/webhooks')).json.data.secret).toBeNull();
  expect((await client.post('/api/webhooks/test', { url })).status).toBe(400);
  expect((await client.post('/api/webhooks/secret', {})).status).toBe(201);
  expect((await client.get('/api/webhooks')).json.data.secret.createdAt).toBeTypeOf('string');
  const { links, deliveryId } = (await client.post('/api/webhooks/test', { url })).json.data;
  await sendDue(souk);
  expect((await client.get(links.self)).json.data.log).toHaveLength(1);
  expect((await client.get('/api/webhooks/deliveries?limit=1')).json.data.deliveries[0]).toMatchObject({
    deliveryId,
  });
  expect((await client.get('/api/webhooks/deliveries?state=lost')).status).toBe(400);
  expect((await client.post(links.replay, {})).status).toBe(202);
  expect((await client.get(`/api/webhooks/deliveries/${UNKNOWN}`)).json.code).toBe('DELIVERY_NOT_FOUND');
  const replay = `/api/webhooks/deliveries/${UNKNOWN}/replay`;
  expect((await client.post(replay, {})).json.code).toBe('DELIVERY_NOT_FOUND');
});

test('the endpoints without a key answer as documented', async ({ client }) => {
  expect((await client.raw('/healthz')).text).toContain('ok');
  expect((await client.raw('/readyz')).status).toBe(200);
  const { headers, json } = await client.raw('/openapi.json');
  expect(json).toMatchObject({ openapi: '3.1.0' });
  const again = await client.raw('/openapi.json', { headers: { 'if-none-match': headers.etag ?? '' } });
  expect([again.status, again.body.length]).toEqual([304, 0]);
});

const WITH_KEY = conformance.operations.filter(
  ({ operation }) => operation['x-operation'] === undefined && operation.security === undefined,
);

test.for(WITH_KEY)(
  '$method $path refuses a request without a good key as documented',
  async ({ method, path }, { souk }) => {
    const address = path.replace('{id}', UNKNOWN);
    const options = { method: method.toUpperCase(), ...(method === 'get' ? {} : json({})) };
    const none = conforming(souk.clientOf(''), conformance);
    expect((await none.raw(address, options)).status).toBe(401);
    const { key, accountId } = await souk.account();
    await souk.database.query(`update accounts set state = 'disabled' where id = $1`, [accountId]);
    const { headers = {} } = options as { headers?: Record<string, string> };
    const disabled = await none.raw(address, { ...options, headers: { ...headers, 'x-api-key': key } });
    expect(disabled.status).toBe(403);
  },
);

test('the tests above have received every success status, and every error of a healthy service', () => {
  const missing = conformance.operations
    .filter(({ operation }) => operation['x-operation'] === undefined)
    .flatMap(({ operation }) =>
      Object.keys(operation.responses).map((status) => `${operation.operationId} ${status}`),
    )
    .filter((answer) => !conformance.seen.has(answer))
    .filter((answer) => !/ (400|405|413|415|429|500|503|504)$/.test(answer));
  expect(missing).toEqual([]);
});
