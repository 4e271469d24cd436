import { expect } from 'vitest';
import { newAsin } from '../../support/answers.ts';
import { test as base } from '../../support/shared-souk-test.ts';
import type { TestAccount } from '../../support/souk.ts';

/** An account that has made two calls, of which one costs two units. */
const test = base.extend('customer', async ({ souk, upstream: _ }) => {
  const account: TestAccount = await souk.account();
  const client = souk.clientOf(account.key);
  await client.get(`/api/market/product?domain=1&asins=${newAsin()}`);
  await client.get(`/api/market/product?domain=1&asins=${newAsin()},${newAsin()}`);
  return client;
});

const dayOf = (unixMs: number) => new Date(unixMs).toISOString().slice(0, 10);

test('usage has calls and units of each day and operation, and their sums', async ({ souk, customer }) => {
  const today = dayOf(souk.clock.now());
  expect((await customer.get('/api/usage')).json.data).toEqual({
    from: dayOf(souk.clock.now() - 29 * 86_400_000),
    to: today,
    calls: 2,
    units: 3,
    usage: [{ day: today, operation: 'market.product', calls: 2, units: 3 }],
  });
  const table = await customer.get(`/api/usage?from=${today}&to=${today}&format=csv`);
  expect(table.headers['content-type']).toBe('text/csv; charset=utf-8');
  expect(table.text).toBe(`day,operation,calls,units\n${today},market.product,2,3\n`);
});

test('usage by key has calls and units by day and key; ledger lines name it', async ({ souk, customer }) => {
  const today = dayOf(souk.clock.now());
  const { key } = (await customer.get('/api/quota')).json.data;
  const { usage, units } = (await customer.get('/api/usage?by=key')).json.data;
  expect(units).toBe(3);
  expect(usage).toEqual([
    { day: today, keyId: key.id, keyPrefix: key.prefix, keyName: null, calls: 2, units: 3 },
  ]);
  const table = await customer.get(`/api/usage?by=key&from=${today}&to=${today}&format=csv`);
  expect(table.text).toBe(`day,keyId,keyPrefix,keyName,calls,units\n${today},${key.id},${key.prefix},,2,3\n`);
  const [line] = (await customer.get('/api/ledger?limit=1')).json.data.ledger;
  expect(line).toMatchObject({ keyId: key.id, keyPrefix: key.prefix });
});

test('usage of another account is empty', async ({ souk, customer: _ }) => {
  const other = await souk.client();
  expect((await other.get('/api/usage')).json.data).toMatchObject({ calls: 0, units: 0, usage: [] });
  expect((await other.get('/api/ledger')).json.data).toEqual({ ledger: [], nextCursor: null });
});

test('the pages of the ledger have every line once, and add up to the units used', async ({ customer }) => {
  const lines = [];
  for (let cursor = ''; cursor !== null; ) {
    const { data } = (await customer.get(`/api/ledger?limit=1${cursor && `&cursor=${cursor}`}`)).json;
    lines.push(...data.ledger);
    cursor = data.nextCursor;
  }
  expect(lines.map(({ kind, units, change }) => [kind, units, change])).toEqual([
    ['settle', 2, 0],
    ['reserve', 2, -2],
    ['settle', 1, 0],
    ['reserve', 1, -1],
  ]);
  expect(lines[0]).toMatchObject({ wallet: 'general', source: 'subscription', operation: 'market.product' });
  expect((await customer.get(`/api/jobs/${lines[0].callId}`)).json.data.unitsCharged).toBe(2);
  const numbers = lines.map(({ line }) => line);
  expect(numbers).toEqual(numbers.toSorted((a, b) => b - a));
});

test('the ledger is filtered by kind, wallet, operation and day', async ({ souk, customer }) => {
  const linesOf = async (filter: string) =>
    (await customer.get(`/api/ledger?${filter}`)).json.data.ledger.length;
  expect(await linesOf('kind=settle')).toBe(2);
  expect(await linesOf('wallet=off_peak')).toBe(0);
  expect(await linesOf('operation=market.seller')).toBe(0);
  const [today, tomorrow] = [dayOf(souk.clock.now()), dayOf(souk.clock.now() + 86_400_000)];
  expect([await linesOf(`to=${today}`), await linesOf(`from=${tomorrow}`)]).toEqual([4, 0]);
});

test('the ledger as CSV has a header and a row for each line that matches', async ({ customer }) => {
  const { text, headers } = await customer.get('/api/ledger?kind=settle&format=csv');
  expect(headers['content-type']).toBe('text/csv; charset=utf-8');
  const [header, ...rows] = text.trim().split('\n');
  expect(header).toBe('line,at,kind,wallet,source,sourceId,callId,operation,units,change,keyId,keyPrefix');
  expect(rows.map((row) => row.split(',').slice(-4, -2))).toEqual([
    ['2', '0'],
    ['1', '0'],
  ]);
});

test.for([
  ['/api/usage?from=yesterday', 'from'],
  ['/api/usage?from=2026-02-30', 'from'],
  ['/api/usage?from=2026-03-02&to=2026-03-01', 'from'],
  ['/api/usage?from=2020-01-01&to=2026-03-01', 'from'],
  ['/api/usage?to=0001-01-01', 'to'],
  ['/api/usage?to=0000-01-01', 'to'],
  ['/api/usage?to=9001-01-01', 'to'],
  ['/api/usage?format=xml', 'format'],
  ['/api/ledger?kind=gift', 'kind'],
  ['/api/ledger?wallet=mine', 'wallet'],
  ['/api/ledger?operation=market.none', 'operation'],
  ['/api/ledger?from=2026-03-02&to=2026-03-01', 'to'],
  ['/api/ledger?cursor=x', 'cursor'],
  ['/api/ledger?cursor=99999999999999999999', 'cursor'],
  ['/api/ledger?limit=0', 'limit'],
  ['/api/ledger?limit=1001', 'limit'],
  ['/api/ledger?format=csv&cursor=5', 'cursor'],
] as const)('%s gets 400 that names %s', async ([path, parameter], { client }) => {
  const { status, json } = await client.get(path);
  expect([status, json.code]).toEqual([400, 'VALIDATION_FAILED']);
  expect(json.metadata).toMatchObject({ errors: [{ parameter }] });
});
