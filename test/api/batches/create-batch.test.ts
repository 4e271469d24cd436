import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { knowsEveryProduct } from '../../support/answers.ts';
import { asinsFrom, batchNow, finished, resultsOf, startBatch } from '../../support/batches.ts';
import type { Client } from '../../support/client.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { advanceUntil } from '../../support/time.ts';
import { unitsUsed } from '../../support/units.ts';
import { loseRedis, stopWorkers } from '../../support/workers.ts';

let souk: Souk;
let client: Client;
beforeAll(async () => {
  souk = await openSouk();
  souk.upstream.on('product', knowsEveryProduct);
});
afterAll(() => souk.close());
beforeEach(async () => {
  client = await souk.client();
});

const operation = 'market.product';
const itemOf = (asin: string) => ({ domain: 1, asin });
const NDJSON = { headers: { 'content-type': 'application/x-ndjson' } };

const batchesOf = async (of: Client) => (await of.get('/api/batches')).json.data.batches;

/** What uploads leave in Redis. */
const uploadsInRedis = async () => {
  const redis = new Redis(souk.redisUrl);
  try {
    return await redis.keys(`${souk.redisNamespace}:upload:*`);
  } finally {
    redis.disconnect();
  }
};
afterEach(async () => expect(await uploadsInRedis()).toEqual([]));

test('a batch is accepted with its quote, and says where it is', async () => {
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

test('items can be lines, with the settings in the address', async () => {
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

test('a dry run tells the price and creates nothing', async () => {
  const body = { operation, items: asinsFrom('B0DRYRUN', 3).map(itemOf), idempotencyKey: 'dry' };
  const reply = await client.post('/api/batches?dryRun=1', body);
  expect(reply.status).toBe(200);
  expect(reply.json.data).toMatchObject({ dryRun: true, items: 3, calls: 1, units: 3 });
  expect(await batchesOf(client)).toEqual([]);
  // Nor does it take the key.
  await finished(client, await startBatch(client, body));
});

test('a batch that costs more than maxUnits is refused, with its price', async () => {
  const body = { operation, items: asinsFrom('B0DEAR', 3).map(itemOf), maxUnits: 2 };
  for (const path of ['/api/batches', '/api/batches?dryRun=1']) {
    const { status, json } = await client.post(path, body);
    expect([status, json.code, json.metadata]).toEqual([429, 'QUOTA_MAX_UNITS', { needed: 3, maxUnits: 2 }]);
  }
  expect(await batchesOf(client)).toEqual([]);
  await finished(client, await startBatch(client, { ...body, maxUnits: 3 }));
});

test('faults are told with their index, and nothing is created or charged', async () => {
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

test('of many faults the message tells the first and how many more, the metadata all', async () => {
  const items = asinsFrom('B0', 12).map((asin) => ({ asin }));
  const { json } = await client.post('/api/batches', { operation, items });
  expect(json.msg).toMatch(/items\[4\]\.domain: [^;]*; and 7 more$/);
  expect(json.metadata?.errors).toHaveLength(12);
});

test.each<[string, object, RegExp]>([
  ['is over', { deadline: '2026-03-04T09:59:59Z' }, /deadline: must be after the present time/],
  ['is too far away', { deadline: '2026-04-04T10:00:00Z' }, /deadline: must be at most 30 days away/],
  // It is 18:00 in Shanghai; the window opens at 19:00.
  [
    'comes before its window',
    { deadline: '2026-03-04T10:59:00Z', window: 'off_peak' },
    /deadline: contradicts window: the off-peak window opens at 2026-03-04T11:00:00.000Z/,
  ],
])('a deadline that %s is refused', async (_, settings, message) => {
  const { status, json } = await client.post('/api/batches', {
    ...{ operation, items: [itemOf('B0DEADLN01')] },
    ...settings,
  });
  expect(status).toBe(400);
  expect(json.msg).toMatch(message);
  expect(await batchesOf(client)).toEqual([]);
});

test('the same idempotency key is the same batch, with another body a conflict, and anew for another account', async () => {
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

test('without a key two equal requests are two batches', async () => {
  const body = { operation, items: [itemOf('B0IDEM0003')] };
  const first = await startBatch(client, body);
  const second = await startBatch(client, body);
  expect(second.batchId).not.toBe(first.batchId);
  await finished(client, first);
  await finished(client, second);
  // The second joined the first's call.
  expect(await unitsUsed(client)).toBe(1);
});

test('a repetition with lines counts the settings in the address', async () => {
  const line = JSON.stringify(itemOf('B0IDEM0004'));
  const send = (query: string) =>
    client.post(`/api/batches?operation=${operation}&idempotencyKey=k2${query}`, line, NDJSON);
  const first = await send('');
  expect((await send('&unknown=1')).json.data.batchId).toBe(first.json.data.batchId);
  expect((await send('&window=off_peak')).status).toBe(409);
  await finished(client, first.json.data);
});

test('a repetition is answered the same when its deadline has passed', async () => {
  const own = await openSouk();
  try {
    own.upstream.on('product', knowsEveryProduct);
    const of = await own.client();
    const deadline = new Date(own.clock.now() + 3_600_000).toISOString();
    const body = { operation, items: [itemOf('B0IDEM0005')], idempotencyKey: 'k3', deadline };
    const first = await startBatch(of, body);
    await finished(of, first);
    own.clock.advance(2 * 3_600_000);
    expect((await startBatch(of, body)).batchId).toBe(first.batchId);
  } finally {
    await own.close();
  }
});

test.each<[string, string | Buffer, object, number, string]>([
  ['more than 16 MiB', Buffer.alloc(16 * 1024 * 1024 + 1, 32), {}, 413, 'PAYLOAD_TOO_LARGE'],
  ['a text', 'operation', { headers: { 'content-type': 'text/plain' } }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
  [
    'a form',
    'a=1',
    { headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    415,
    'UNSUPPORTED_MEDIA_TYPE',
  ],
  ['no JSON', '{"operation":', {}, 400, 'VALIDATION_FAILED'],
  ['nothing', '', {}, 400, 'VALIDATION_FAILED'],
  ['bytes that are no text', Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), {}, 400, 'VALIDATION_FAILED'],
  ['lists, a million deep', '['.repeat(1_000_000), {}, 400, 'VALIDATION_FAILED'],
])('%s is refused', async (_, body, options, status, code) => {
  const headers = { 'content-type': 'application/json' };
  const reply = await client.post('/api/batches', body, { headers, ...options });
  expect([reply.status, reply.json.code]).toEqual([status, code]);
  expect(await batchesOf(client)).toEqual([]);
});

test('an operation takes no lines', async () => {
  const reply = await client.post('/api/market/product', JSON.stringify(itemOf('B0NOLINES1')), NDJSON);
  expect(reply.status).toBe(415);
});

test('a bad key is refused before the body is looked at', async () => {
  const headers = { 'content-type': 'application/json', 'x-api-key': `km_${'x'.repeat(32)}` };
  const large = Buffer.alloc(16 * 1024 * 1024 + 1, 32);
  for (const body of ['{"operation":', large]) {
    const reply = await client.raw('/api/batches', { method: 'POST', headers, body });
    expect([reply.status, reply.json.code]).toEqual([401, '4001']);
  }
  const { headers: without, status } = await client.raw('/api/batches', { method: 'POST', body: {} });
  expect([status, without['x-units-consumed']]).toEqual([401, '0']);
});

test('a key in the address is never in Redis, nor is what nobody reads', async () => {
  await stopWorkers(souk);
  const { raw, key } = client;
  const address = `/api/batches?key=${key}&operation=${operation}&other=unread-${key}`;
  const line = JSON.stringify(itemOf('B0SECRET01'));
  const replies = [
    raw(address, { method: 'POST', body: line, ...NDJSON }),
    raw(address, { method: 'POST', body: { operation, items: [itemOf('B0SECRET02')] } }),
  ];
  await expect.poll(uploadsInRedis).toHaveLength(2);
  const redis = new Redis(souk.redisUrl);
  const jobs = await redis.keys(`{${souk.redisNamespace}-batch}:batch:????????-*`);
  expect(jobs).toHaveLength(2);
  const data = await Promise.all(jobs.map((job) => redis.hget(job, 'data')));
  redis.disconnect();
  expect(data.join()).toContain(operation);
  expect(data.join()).not.toContain(key.slice(3));
  await souk.addWorker();
  for (const reply of await Promise.all(replies)) expect(reply.status).toBe(202);
  expect(souk.logLines.join('')).not.toContain(key.slice(3));
});

test('an address as long as it may be does no harm', async () => {
  const long = '%22'.repeat(20_000);
  const line = JSON.stringify(itemOf('B0LONGADR1'));
  const unread = await client.post(`/api/batches?operation=${operation}&other=${long}`, line, NDJSON);
  expect(unread.status).toBe(202);
  const name = await client.post(`/api/batches?operation=${operation}&name=${long}`, line, NDJSON);
  expect([name.status, name.json.msg]).toEqual([400, 'name: must be a text of 1 to 200 characters']);
});

test('while no worker reads uploads they are refused in time, and made no batch of later', async () => {
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

test('what fails here for no fault of the customer is told so', async () => {
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

test('batches are listed page by page, the newest first, and by state', async () => {
  const ids: string[] = [];
  for (const asin of asinsFrom('B0LIST', 3)) {
    const batch = await startBatch(client, { operation, items: [itemOf(asin)] });
    await finished(client, batch);
    ids.unshift(batch.batchId);
  }
  const idsOf = (data: { batches: { batchId: string }[] }) => data.batches.map(({ batchId }) => batchId);
  const page = (await client.get('/api/batches?limit=2')).json.data;
  expect([idsOf(page), page.nextCursor]).toEqual([ids.slice(0, 2), ids[1]]);
  const rest = (await client.get(`/api/batches?limit=2&cursor=${page.nextCursor}`)).json.data;
  expect([idsOf(rest), rest.nextCursor]).toEqual([ids.slice(2), null]);
  expect(idsOf((await client.get('/api/batches?state=done')).json.data)).toEqual(ids);
  expect(await batchesOf(await souk.client())).toEqual([]);
});

test.each([
  ['/api/batches?state=sleeping', 'state'],
  ['/api/batches?limit=0', 'limit'],
  ['/api/batches?cursor=1', 'cursor'],
])('a bad list is refused: %s', async (path, parameter) => {
  const { status, json } = await client.get(path);
  expect([status, json.metadata?.errors]).toMatchObject([400, [{ parameter }]]);
});

test.each(['1', 'x', '00000000-0000-7000-8000-000000000000', '%00', 'null'])(
  'there is no batch %s',
  async (id) => {
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/results'],
      ['POST', '/retry'],
      ['DELETE', ''],
    ] as const) {
      const { status, json } = await client.get(`/api/batches/${id}${path}`, { method });
      expect([status, json.code]).toEqual([404, 'BATCH_NOT_FOUND']);
    }
  },
);

test('a foreign batch can be neither cancelled nor retried', async () => {
  const batch = await startBatch(client, { operation, items: [itemOf('B0FOREIGN2')], window: 'off_peak' });
  const stranger = await souk.client();
  for (const [method, path] of [
    ['POST', '/retry'],
    ['DELETE', ''],
  ] as const) {
    const { json } = await stranger.get(`/api/batches/${batch.batchId}${path}`, { method });
    expect(json.code).toBe('BATCH_NOT_FOUND');
  }
  expect(await batchNow(client, batch)).toMatchObject({ finishedAt: null });
});

test('a gateway that stops does not wait for workers that are away', async () => {
  await stopWorkers(souk);
  await souk.addGateway();
  const [, gateway] = souk.gateways;
  const other = souk.clientOf(client.key, 1);
  const reply = other.post('/api/batches', { operation, items: [itemOf('B0GATEWAY1')] });
  await expect.poll(uploadsInRedis).toHaveLength(1);
  souk.gateways.splice(1);
  await gateway?.close();
  expect((await reply).status).toBe(503);
  await loseRedis(souk);
  await souk.addWorker();
});
