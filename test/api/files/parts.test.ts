import { expect } from 'vitest';
import { newAsin } from '../../support/answers.ts';
import { asinsFrom, finished, startBatch } from '../../support/batches.ts';
import type { Client } from '../../support/client.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const JOB = async (client: Client) => {
  const { headers } = await client.get(`/api/market/product?domain=1&asins=${newAsin()}&history=1`);
  return `/api/jobs/${headers['x-job-id']}/result`;
};

const BATCH = async (client: Client, format: string) => {
  const batch = { operation: 'market.product', params: { domain: 1, history: 0 } };
  const made = await startBatch(client, { ...batch, split: { asins: asinsFrom('B0PARTS', 30) } });
  await finished(client, made);
  return `/api/batches/${made.batchId}/results?format=${format}`;
};

const RESULTS = [
  { of: 'a job', make: JOB },
  { of: 'a job as a table', make: async (client: Client) => `${await JOB(client)}?format=csv` },
  { of: 'a batch as lines', make: (client: Client) => BATCH(client, 'ndjson') },
  { of: 'a batch as a table', make: (client: Client) => BATCH(client, 'csv') },
];

const plain = (headers: Record<string, string> = {}) => ({
  headers: { 'accept-encoding': 'identity', ...headers },
});

test.for(RESULTS)('the parts of the result of $of together are the result', async ({ make }, { client }) => {
  const path = await make(client);
  const whole = await client.get(path, plain());
  const { etag = '', 'last-modified': modified = '' } = whole.headers;
  expect(whole.headers).toMatchObject({ 'accept-ranges': 'bytes' });
  expect(Date.parse(modified)).toBeGreaterThan(0);
  const size = whole.body.length;
  const head = await client.get(path, { method: 'HEAD', ...plain() });
  expect([head.status, head.headers['content-length'], head.headers.etag, head.body.length]).toEqual([
    200,
    String(size),
    etag,
    0,
  ]);
  const parts: Buffer[] = [];
  for (const range of [`bytes=0-99`, `bytes=100-${size - 101}`, 'bytes=-100']) {
    const part = await client.get(path, plain({ range, 'if-range': etag }));
    expect([range, part.status, part.headers.etag]).toEqual([range, 206, etag]);
    expect(part.headers['content-length']).toBe(String(part.body.length));
    expect(part.headers['content-range']).toMatch(new RegExp(`^bytes \\d+-\\d+/${size}$`));
    parts.push(part.body);
  }
  expect(Buffer.concat(parts).equals(whole.body)).toBe(true);
});

test.for(RESULTS)('a client that has the result of $of gets 304', async ({ make }, { client }) => {
  const path = await make(client);
  const whole = await client.get(path, plain());
  const zipped = await client.get(path, { headers: { 'accept-encoding': 'gzip' } });
  expect(zipped.text).toBe(whole.text);
  const { etag = '', 'last-modified': modified = '' } = whole.headers;
  const conditions = [
    { 'if-none-match': etag },
    { 'if-none-match': `"other", W/${zipped.headers.etag}` },
    { 'if-none-match': '*' },
    { 'if-modified-since': modified },
  ];
  for (const condition of conditions) {
    const { status, body } = await client.get(path, plain(condition));
    expect([condition, status, body.length]).toEqual([condition, 304, 0]);
  }
  const older = new Date(Date.parse(modified) - 1_000).toUTCString();
  for (const condition of [
    { 'if-none-match': '"other"', 'if-modified-since': modified },
    { 'if-modified-since': older },
    { 'if-modified-since': 'yesterday' },
  ])
    expect([condition, (await client.get(path, plain(condition))).status]).toEqual([condition, 200]);
});

test.for(RESULTS)('a range of the result of $of beyond its end gets 416', async ({ make }, { client }) => {
  const path = await make(client);
  const size = (await client.get(path, plain())).body.length;
  const { status, json, headers } = await client.get(path, plain({ range: `bytes=${size}-` }));
  expect([status, json.code, headers['content-range']]).toEqual([
    416,
    'RANGE_NOT_SATISFIABLE',
    `bytes */${size}`,
  ]);
});

test.for(['bytes=0-9', 'bytes=5-1', 'bytes=0-1,5-6', 'rows=0-9', 'bytes', 'bytes=x-y'])(
  'a range of another version, several ranges and unknown units (%s) are ignored',
  async (range, { client }) => {
    const path = await JOB(client);
    const whole = await client.get(path, plain());
    const condition: Record<string, string> = range === 'bytes=0-9' ? { 'if-range': '"older"' } : {};
    const reply = await client.get(path, plain({ range, ...condition }));
    // A first byte after the last one names no byte.
    expect(reply.status).toBe(range === 'bytes=5-1' ? 416 : 200);
    if (reply.status === 200) expect(reply.body.equals(whole.body)).toBe(true);
  },
);

test('a batch that has not ended has no version and no parts', async ({ client }) => {
  const batch = { operation: 'market.product', params: { domain: 1 }, window: 'off_peak' };
  const { batchId } = await startBatch(client, { ...batch, split: { asins: [newAsin()] } });
  const path = `/api/batches/${batchId}/results`;
  const { status, headers } = await client.get(path, plain({ range: 'bytes=0-9' }));
  expect([status, headers.etag, headers['x-batch-finished']]).toEqual([200, undefined, 'false']);
  expect((await client.get(path, { method: 'HEAD' })).status).toBe(200);
});

test('parts of a result are free, and those of a batch are stored once', async ({
  souk,
  client,
  account,
}) => {
  const path = await BATCH(client, 'csv');
  const units = await unitsUsed(client);
  await Promise.all(
    Array.from({ length: 8 }, (_, i) => client.get(path, plain({ range: `bytes=${i}-${i + 9}` }))),
  );
  expect(await unitsUsed(client)).toBe(units);
  const { rows } = await souk.database.query(
    `select c.state, c.size from files f join file_contents c on c.id = f.content_id where f.account_id = $1`,
    [account.accountId],
  );
  expect(rows).toEqual([{ state: 'complete', size: (await client.get(path, plain())).body.length }]);
});
