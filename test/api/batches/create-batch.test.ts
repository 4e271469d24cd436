import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { asinsFrom, finished, resultsOf, startBatch } from '../../support/batches.ts';
import type { Client } from '../../support/client.ts';
import { whileLocked } from '../../support/locked-account.ts';
import { batchQueueOf, createSchedule, productsHourly } from '../../support/schedules.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { advanceUntil, endOf } from '../../support/time.ts';
import { unitsUsed } from '../../support/units.ts';
import { loseRedis, stopWorkers } from '../../support/workers.ts';

const operation = 'market.product';
const itemOf = (asin: string) => ({ domain: 1, asin });
const NDJSON = { headers: { 'content-type': 'application/x-ndjson' } };

const batchesOf = async (of: Client) => (await of.get('/api/batches')).json.data.batches;

/** The uploads in Redis. */
const uploadsIn = (redis: Redis, souk: Souk) => redis.keys(`${souk.redisNamespace}:upload:*`);
test.afterEach(async ({ redis, souk }) => expect(await uploadsIn(redis, souk)).toEqual([]));

test('accepts a batch with 202, its quote and its address', async ({ client }) => {
  const body = {
    operation,
    params: { domain: 1 },
    split: { asins: asinsFrom('B0QUOTE', 120) },
    name: 'first',
  };
  const reply = await client.post('/api/batches', body);
  expect(reply.status).toBe(202);
  const { batchId } = reply.json.data;
  expect(reply.headers).toMatchObject({ location: `/api/batches/${batchId}`, 'x-units-consumed': '0' });
  expect(reply.json.data).toMatchObject({
    name: 'first',
    operation,
    window: 'any',
    counts: { items: 120 },
    units: { quoted: 120 },
    createdAt: '2026-03-04T10:00:00.000Z',
    deadlineAt: '2026-03-11T10:00:00.000Z',
    links: { results: `/api/batches/${batchId}/results` },
  });
  await finished(client, { batchId });
});

test('accepts items as lines, with the settings in the query', async ({ client }) => {
  const lines = asinsFrom('B0NDJSON', 3).map((asin) => JSON.stringify(itemOf(asin)));
  const reply = await client.post(
    `/api/batches?operation=${operation}&name=lines`,
    `${lines.join('\n')}\n`,
    NDJSON,
  );
  expect(reply.status).toBe(202);
  expect(reply.json.data).toMatchObject({ name: 'lines', counts: { items: 3 } });
  await finished(client, reply.json.data);
  expect((await resultsOf(client, reply.json.data)).map(({ params }) => JSON.stringify(params))).toEqual(
    lines,
  );
});

test('a dry run returns the price and creates nothing', async ({ client }) => {
  const body = { operation, items: asinsFrom('B0DRYRUN', 3).map(itemOf), idempotencyKey: 'dry' };
  const reply = await client.post('/api/batches?dryRun=1', body);
  expect(reply.status).toBe(200);
  expect(reply.json.data).toMatchObject({ dryRun: true, items: 3, calls: 1, units: 3 });
  expect(await batchesOf(client)).toEqual([]);
  // The dry run does not use the idempotency key either.
  await finished(client, await startBatch(client, body));
});

test('refuses a batch that costs more than maxUnits, with its price', async ({ client }) => {
  const body = { operation, items: asinsFrom('B0DEAR', 3).map(itemOf), maxUnits: 2 };
  for (const path of ['/api/batches', '/api/batches?dryRun=1']) {
    const { status, json } = await client.post(path, body);
    expect([status, json.code, json.metadata]).toEqual([429, 'QUOTA_MAX_UNITS', { needed: 3, maxUnits: 2 }]);
  }
  expect(await batchesOf(client)).toEqual([]);
  await finished(client, await startBatch(client, { ...body, maxUnits: 3 }));
});

test('reports each bad item with its index, and creates and charges nothing', async ({ client }) => {
  const items = [itemOf('B0FAULTS01'), itemOf('B0'), { domain: 7, asin: 'B0FAULTS01' }];
  const { status, json } = await client.post('/api/batches', { operation, items });
  expect([status, json.code]).toEqual([400, 'VALIDATION_FAILED']);
  expect(json.msg).toMatch(/^items\[1\]\.asins: .*; items\[2\]\.domain: /);
  expect(json.metadata?.errors).toMatchObject([
    { index: 1, parameter: 'asins' },
    { index: 2, parameter: 'domain' },
  ]);
  expect(await batchesOf(client)).toEqual([]);
  expect(await unitsUsed(client)).toBe(0);
});

test('lists the first of many bad items in the message, and all in the metadata', async ({ client }) => {
  const items = asinsFrom('B0', 12).map((asin) => ({ asin }));
  const { json } = await client.post('/api/batches', { operation, items });
  expect(json.msg).toMatch(/items\[4\]\.domain: [^;]*; and 7 more$/);
  expect(json.metadata?.errors).toHaveLength(12);
});

test.for<[string, object, RegExp]>([
  ['has passed', { deadline: '2026-03-04T09:59:59Z' }, /deadline: must be after the present time/],
  ['is too far away', { deadline: '2026-04-04T10:00:00Z' }, /deadline: must be at most 30 days away/],
  // It is 18:00 in Shanghai; the window opens at 19:00.
  [
    'comes before its window',
    { deadline: '2026-03-04T10:59:00Z', window: 'off_peak' },
    /deadline: contradicts window: the off-peak window opens at 2026-03-04T11:00:00.000Z/,
  ],
])('refuses a deadline that %s', async ([_, settings, message], { client }) => {
  const { status, json } = await client.post('/api/batches', {
    operation,
    items: [itemOf('B0DEADLN01')],
    ...settings,
  });
  expect(status).toBe(400);
  expect(json.msg).toMatch(message);
  expect(await batchesOf(client)).toEqual([]);
});

test('an idempotency key returns the same batch, conflicts with another body, and belongs to one account', async ({
  souk,
  client,
}) => {
  const body = {
    operation,
    items: [itemOf('B0IDEM0001')],
    idempotencyKey: 'k1',
    deadline: '2026-03-05T10:00:00Z',
  };
  const [first, second] = await Promise.all([startBatch(client, body), startBatch(client, body)]);
  expect(second.batchId).toBe(first.batchId);
  const other = await client.post('/api/batches', { ...body, items: [itemOf('B0IDEM0002')] });
  expect([other.status, other.json.code]).toEqual([409, 'IDEMPOTENCY_CONFLICT']);
  await finished(client, first);
  expect(await batchesOf(client)).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(1);
  const stranger = await souk.client();
  expect((await startBatch(stranger, body)).batchId).not.toBe(first.batchId);
});

test('returns the same batch for an idempotency key and content in another form', async ({ client }) => {
  const [one = '', two = ''] = asinsFrom('B0FORM', 2);
  const key = { idempotencyKey: 'k4' };
  const first = await startBatch(client, { operation, items: [itemOf(one), itemOf(two)], ...key });
  const inOtherForms = [
    { ...key, operation, name: null, window: 'any', params: { domain: 1 }, split: { asins: [one, two] } },
    { ...key, operation, items: [one, two].map((asin) => ({ asins: asin.toLowerCase(), country: 'us' })) },
  ];
  for (const body of inOtherForms) expect((await startBatch(client, body)).batchId).toBe(first.batchId);
  const lines = [one, two].map((asin) => JSON.stringify(itemOf(asin))).join('\n');
  const address = `/api/batches?idempotencyKey=k4&operation=${operation}`;
  expect((await client.post(address, lines, NDJSON)).json.data.batchId).toBe(first.batchId);
  const reversed = { ...key, operation, items: [itemOf(two), itemOf(one)] };
  expect((await client.post('/api/batches', reversed)).status).toBe(409);
  await finished(client, first);
});

test('two identical requests without an idempotency key make two batches', async ({ client }) => {
  const body = { operation, items: [itemOf('B0IDEM0003')] };
  const first = await startBatch(client, body);
  const second = await startBatch(client, body);
  expect(second.batchId).not.toBe(first.batchId);
  await finished(client, first);
  await finished(client, second);
  // The call of the second batch joined the call of the first.
  expect(await unitsUsed(client)).toBe(1);
});

test('refuses a repeated request with lines if the settings in its query differ', async ({ client }) => {
  const line = JSON.stringify(itemOf('B0IDEM0004'));
  const send = (query: string) =>
    client.post(`/api/batches?operation=${operation}&idempotencyKey=k2${query}`, line, NDJSON);
  const first = await send('');
  expect((await send('&unknown=1')).json.data.batchId).toBe(first.json.data.batchId);
  expect((await send('&window=off_peak')).status).toBe(409);
  await finished(client, first.json.data);
});

test.for<[string, string | Buffer, object, number, string]>([
  ['a body of more than 16 MiB', Buffer.alloc(16 * 1024 * 1024 + 1, 32), {}, 413, 'PAYLOAD_TOO_LARGE'],
  ['a text body', 'operation', { headers: { 'content-type': 'text/plain' } }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
  [
    'a form',
    'a=1',
    { headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    415,
    'UNSUPPORTED_MEDIA_TYPE',
  ],
  ['a body that is not JSON', '{"operation":', {}, 400, 'VALIDATION_FAILED'],
  ['an empty body', '', {}, 400, 'VALIDATION_FAILED'],
  ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), {}, 400, 'VALIDATION_FAILED'],
  ['a million nested lists', '['.repeat(1_000_000), {}, 400, 'VALIDATION_FAILED'],
])('refuses %s', async ([_, body, options, status, code], { client }) => {
  const headers = { 'content-type': 'application/json' };
  const reply = await client.post('/api/batches', body, { headers, ...options });
  expect([reply.status, reply.json.code]).toEqual([status, code]);
  expect(await batchesOf(client)).toEqual([]);
});

test('stores no key in the query nor unknown query parameters in Redis', async ({ souk, redis, client }) => {
  await stopWorkers(souk);
  const { raw, key } = client;
  const address = `/api/batches?key=${key}&operation=${operation}&other=unread-${key}`;
  const line = JSON.stringify(itemOf('B0SECRET01'));
  const replies = [
    raw(address, { method: 'POST', body: line, ...NDJSON }),
    raw(address, { method: 'POST', body: { operation, items: [itemOf('B0SECRET02')] } }),
  ];
  await expect.poll(() => uploadsIn(redis, souk)).toHaveLength(2);
  const jobs = await redis.keys(`{${souk.redisNamespace}-batch}:batch:????????-*`);
  expect(jobs).toHaveLength(2);
  const data = await Promise.all(jobs.map((job) => redis.hget(job, 'data')));
  expect(data.join()).toContain(operation);
  expect(data.join()).not.toContain(key.slice(3));
  await souk.addWorker();
  for (const reply of await Promise.all(replies)) expect(reply.status).toBe(202);
  expect(souk.logLines.join('')).not.toContain(key.slice(3));
});

test('accepts a query of the maximum length, and refuses a name of that length', async ({ client }) => {
  const long = '%22'.repeat(20_000);
  const line = JSON.stringify(itemOf('B0LONGADR1'));
  const unread = await client.post(`/api/batches?operation=${operation}&other=${long}`, line, NDJSON);
  expect(unread.status).toBe(202);
  const name = await client.post(`/api/batches?operation=${operation}&name=${long}`, line, NDJSON);
  expect([name.status, name.json.msg]).toEqual([
    400,
    'name: must be a text of 1 to 200 characters, got 20000 characters',
  ]);
});

test('refuses an upload with 503 if no worker reads it, and makes no batch', async ({ souk, client }) => {
  await stopWorkers(souk);
  let answered = false;
  const reply = client.post('/api/batches', { operation, items: [itemOf('B0NOBODY01')] }).finally(() => {
    answered = true;
  });
  await advanceUntil(souk.clock, () => answered, 5_000);
  expect(await reply).toMatchObject({ status: 503, headers: { 'retry-after': '10' } });
  await souk.addWorker();
  await finished(client, await startBatch(client, { operation, items: [itemOf('B0NOBODY02')] }));
  expect(await batchesOf(client)).toHaveLength(1);
});

test.for([
  ['a batch', () => '/api/batches'],
  ['a run of a schedule', ({ scheduleId }: { scheduleId: string }) => `/api/schedules/${scheduleId}/run`],
] as const)(
  'refuses %s with 503 if a worker takes too long, and makes none later',
  async ([, pathOf], { souk, account, client }) => {
    const path = pathOf(await createSchedule(client, productsHourly(['B0TIMEOUT1'], { paused: true })));
    const body = { operation, items: [itemOf('B0TIMEOUT2')] };
    const waiting =
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    await whileLocked(souk.database, account, async () => {
      const reply = client.post(path, body);
      await expect.poll(async () => (await souk.database.query(waiting)).rowCount).toBe(1);
      expect((await endOf(souk.clock, reply, 5_000)).status).toBe(503);
    });
    await expect.poll(async () => (await souk.database.query(waiting)).rowCount).toBe(0);
    const queue = batchQueueOf(souk);
    await expect.poll(() => queue.getJobCountByTypes('waiting', 'active')).toBe(0);
    expect(await batchesOf(client)).toEqual([]);
  },
);

test('returns 500 when storing a batch fails', async ({ souk, client }) => {
  await souk.database.query(
    "alter table batches add constraint broken check (name is distinct from 'broken')",
  );
  const reply = await client.post('/api/batches', {
    operation,
    items: [itemOf('B0BROKEN01')],
    name: 'broken',
  });
  expect([reply.status, reply.json.code]).toEqual([500, '5000']);
  expect(await batchesOf(client)).toEqual([]);
});

test('lists batches by state', async ({ client }) => {
  const batch = await startBatch(client, { operation, items: [itemOf('B0LIST0001')] });
  await finished(client, batch);
  const found = async (state: string) =>
    (await client.get(`/api/batches?state=${state}`)).json.data.batches.map(
      ({ batchId }: { batchId: string }) => batchId,
    );
  expect([await found('done'), await found('running')]).toEqual([[batch.batchId], []]);
  const { status, json } = await client.get('/api/batches?state=sleeping');
  expect([status, json.metadata?.errors]).toMatchObject([400, [{ parameter: 'state' }]]);
});

test('a gateway stops without waiting for an upload no worker reads', async ({ souk, redis, client }) => {
  await stopWorkers(souk);
  await souk.addGateway();
  const [, gateway] = souk.gateways;
  const other = souk.clientOf(client.key, 1);
  const reply = other.post('/api/batches', { operation, items: [itemOf('B0GATEWAY1')] });
  await expect.poll(() => uploadsIn(redis, souk)).toHaveLength(1);
  souk.gateways.splice(1);
  await gateway?.close();
  expect((await reply).status).toBe(503);
  await loseRedis(souk);
  await souk.addWorker();
});

// The last test of the file, because it moves the clock.
test('returns the same batch for an idempotency key after its deadline', async ({ souk, client }) => {
  const deadline = new Date(souk.clock.now() + 3_600_000).toISOString();
  const body = { operation, items: [itemOf('B0IDEM0005')], idempotencyKey: 'k3', deadline };
  const first = await startBatch(client, body);
  await finished(client, first);
  souk.clock.advance(2 * 3_600_000);
  expect((await startBatch(client, body)).batchId).toBe(first.batchId);
});
