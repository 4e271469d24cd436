import { expect } from 'vitest';
import { createKey } from '../../src/accounts/authentication.ts';
import { holdProducts, knowsEveryProduct } from '../support/answers.ts';
import { gate, type ScriptedUpstream } from '../support/scripted-upstream.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';
import { stopWorkers } from '../support/workers.ts';

test.override('soukOptions', { gateways: 2 });

/** Returns a product that no other test requests. */
let lastAsin = 0;
function newAsin(): string {
  lastAsin += 1;
  return `B0DEDUP${String(lastAsin).padStart(3, '0')}`;
}

const productOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;
const asksFor = (upstream: ScriptedUpstream, asin: string) =>
  upstream.callsTo('product').filter(({ params }) => params.asin === asin);

test('charges once for two identical requests within five minutes', async ({ client }) => {
  const asin = newAsin();
  const first = await client.get(productOf(asin));
  expect(first.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'MISS' });
  expect(first.headers).not.toHaveProperty('x-deduplicated');
  const second = await client.get(productOf(asin));
  expect(second.status).toBe(200);
  expect(second.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
  expect(second.headers['x-job-id']).toBe(first.headers['x-job-id']);
  expect(second.body).toEqual(first.body);
  expect(await unitsUsed(client)).toBe(1);
});

test.for([
  ['the same gateway', 0],
  ['another gateway', 1],
] as const)(
  'a request to %s joins an identical one that is running',
  async ([_, gateway], { souk, client, upstream }) => {
    const open = holdProducts(upstream);
    const asin = newAsin();
    const first = client.get(productOf(asin));
    await upstream.received(1, 'product');
    const awaited = souk.events.next('call.awaited');
    const second = souk.clientOf(client.key, gateway).get(productOf(asin));
    await awaited;
    open();
    const [leading, joining] = await Promise.all([first, second]);
    expect(leading.headers['x-units-consumed']).toBe('1');
    expect(joining.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
    expect(joining.body).toEqual(leading.body);
    expect(asksFor(upstream, asin)).toHaveLength(1);
    expect(await unitsUsed(client)).toBe(1);
  },
);

test('joins a call that another gateway has answered', async ({ souk, client }) => {
  const { key } = client;
  const asin = newAsin();
  const first = await souk.clientOf(key, 0).get(productOf(asin));
  const second = await souk.clientOf(key, 1).get(productOf(asin));
  expect(second.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
  expect(second.body).toEqual(first.body);
});

test.for<[string, (asin: string) => string]>([
  ['an alias of a parameter', (asin) => `/api/market/product?domainId=1&asin=${asin}`],
  ['the country instead of the domain', (asin) => `/api/market/product?country=US&asins=${asin}`],
  ['a lower-case ASIN that is repeated', (asin) => `${productOf(asin.toLowerCase())},${asin}`],
  [
    'defaults that are sent explicitly',
    (asin) => `${productOf(asin)}&history=true&offers=0&detailLevel=lite`,
  ],
  ['a trailing slash', (asin) => `/api/market/product/?domain=1&asins=${asin}`],
])('joins a request with %s', async ([_, path], { client }) => {
  const asin = newAsin();
  await client.get(productOf(asin));
  const other = await client.get(path(asin));
  expect(other.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
});

test('a POST joins a GET with the same parameters', async ({ client }) => {
  const [a, b] = [newAsin(), newAsin()];
  await client.get(productOf(`${a},${b}`));
  const posted = await client.post('/api/market/product', { domain: 1, asins: [b, a, b] });
  expect(posted.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
  expect(await unitsUsed(client)).toBe(2);
});

test('charges a request with another presentation separately', async ({ souk, client, upstream }) => {
  const asin = newAsin();
  await client.get(productOf(asin));
  souk.clock.advance(1);
  const other = await client.get(`${productOf(asin)}&detailLevel=full`);
  expect(other.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'HIT' });
  expect(asksFor(upstream, asin)).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(2);
});

test('two keys of one account share their calls', async ({ souk, account }) => {
  const { accountId, key } = account;
  const asin = newAsin();
  await souk.clientOf(key).get(productOf(asin));
  const other = souk.clientOf(await createKey(souk.database, accountId, souk.clock.now()));
  expect((await other.get(productOf(asin))).headers['x-units-consumed']).toBe('0');
});

test('charges a repeated call after the first one has failed', async ({ client, upstream }) => {
  const asin = newAsin();
  upstream.on('product', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
  const failed = await client.get(productOf(asin));
  expect(failed.status).toBe(502);
  expect(failed.headers['x-units-consumed']).toBe('0');
  expect(await unitsUsed(client)).toBe(0);
  upstream.on('product', knowsEveryProduct);
  const next = await client.get(productOf(asin));
  expect(next.status).toBe(200);
  expect(next.headers['x-units-consumed']).toBe('1');
  expect(next.headers['x-job-id']).not.toBe(failed.headers['x-job-id']);
  expect(await unitsUsed(client)).toBe(1);
});

test('a request that joined a failing call gets its error and is not charged', async ({
  souk,
  client,
  upstream,
}) => {
  const { reached, open } = gate();
  upstream.on('product', async () => {
    await reached;
    return { status: 400, json: { error: { type: 'invalidParameter' } } };
  });
  const asin = newAsin();
  const first = client.get(productOf(asin));
  await upstream.received(1, 'product');
  const awaited = souk.events.next('call.awaited');
  const second = client.get(productOf(asin));
  await awaited;
  open();
  for (const reply of await Promise.all([first, second])) {
    expect(reply.status).toBe(502);
    expect(reply.json.code).toBe('UPSTREAM_ERROR');
    expect(reply.headers['x-units-consumed']).toBe('0');
  }
  expect(asksFor(upstream, asin)).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(0);
});

test('charges a repeated call after five minutes, even if cached', async ({ souk, client, upstream }) => {
  const asin = newAsin();
  await client.get(productOf(asin));
  souk.clock.advance(299_999);
  expect((await client.get(productOf(asin))).headers['x-deduplicated']).toBe('true');
  souk.clock.advance(1);
  const again = await client.get(productOf(asin));
  expect(again.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'HIT' });
  expect(again.headers).not.toHaveProperty('x-deduplicated');
  expect(again.json.data.fromCache).toBe(true);
  expect(asksFor(upstream, asin)).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(2);
});

test('joins a call that has been running for more than five minutes', async ({ ownSouk: idle }) => {
  const client = await idle.client();
  // The worker of the pool stops before the call is accepted, so the call stays queued.
  await stopWorkers(idle);
  const path = `${productOf(newAsin())}&async=1`;
  const first = await client.get(path);
  idle.clock.advance(301_000);
  const second = await client.get(path);
  expect(second.headers).toMatchObject({ 'x-deduplicated': 'true', location: first.headers.location });
  expect(await unitsUsed(client)).toBe(1);
});
