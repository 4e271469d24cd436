import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey } from '../../src/accounts/keys.ts';
import { knowsEveryProduct } from '../support/answers.ts';
import { gate } from '../support/scripted-upstream.ts';
import { openSouk, type Souk } from '../support/souk.ts';
import { unitsUsed } from '../support/units.ts';
import { stopWorkers } from '../support/workers.ts';

let souk: Souk;
beforeAll(async () => {
  souk = await openSouk({ gateways: 2 });
});
afterAll(() => souk.close());

/** A product that no other test asks for. */
let lastAsin = 0;
function newAsin(): string {
  lastAsin += 1;
  return `B0DEDUP${String(lastAsin).padStart(3, '0')}`;
}

const productOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;
const asksFor = (asin: string) =>
  souk.upstream.callsTo('product').filter(({ params }) => params.asin === asin);

test('charges once for two identical requests within five minutes', async () => {
  souk.upstream.on('product', knowsEveryProduct);
  const [client, asin] = [await souk.client(), newAsin()];
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

test.each([
  ['the same gateway', 0],
  ['another gateway', 1],
])('a request to %s joins an identical one that is running', async (_, gateway) => {
  const { reached, open } = gate();
  souk.upstream.on('product', async (...call) => {
    await reached;
    return knowsEveryProduct(...call);
  });
  const { key } = await souk.account();
  const [client, asin] = [souk.clientOf(key), newAsin()];
  const first = client.get(productOf(asin));
  await expect.poll(() => asksFor(asin)).toHaveLength(1);
  const timers = souk.clock.waiting;
  const second = souk.clientOf(key, gateway).get(productOf(asin));
  // The patience of the second is the timer to come.
  await expect.poll(() => souk.clock.waiting).toBeGreaterThan(timers);
  open();
  const [leading, joining] = await Promise.all([first, second]);
  expect(leading.headers['x-units-consumed']).toBe('1');
  expect(joining.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
  expect(joining.body).toEqual(leading.body);
  expect(asksFor(asin)).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(1);
});

test('a request that another gateway has answered is joined there too', async () => {
  souk.upstream.on('product', knowsEveryProduct);
  const { key } = await souk.account();
  const asin = newAsin();
  const first = await souk.clientOf(key, 0).get(productOf(asin));
  const second = await souk.clientOf(key, 1).get(productOf(asin));
  expect(second.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
  expect(second.body).toEqual(first.body);
});

test.each<[string, (asin: string) => string, unknown?]>([
  ['the alias of a parameter', (asin) => `/api/market/product?domainId=1&asin=${asin}`],
  ['the name of the site', (asin) => `/api/market/product?country=US&asins=${asin}`],
  ['another spelling and a repetition', (asin) => `${productOf(asin.toLowerCase())},${asin}`],
  ['a default that is spelled out', (asin) => `${productOf(asin)}&history=true&offers=0&detailLevel=lite`],
  ['a slash at the end', (asin) => `/api/market/product/?domain=1&asins=${asin}`],
])('a request with %s is identical', async (_, path) => {
  souk.upstream.on('product', knowsEveryProduct);
  const [client, asin] = [await souk.client(), newAsin()];
  await client.get(productOf(asin));
  const other = await client.get(path(asin));
  expect(other.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
});

test('a POST is identical to the GET that asks the same', async () => {
  souk.upstream.on('product', knowsEveryProduct);
  const [client, a, b] = [await souk.client(), newAsin(), newAsin()];
  await client.get(productOf(`${a},${b}`));
  const posted = await client.post('/api/market/product', { domain: 1, asins: [b, a, b] });
  expect(posted.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
  expect(await unitsUsed(client)).toBe(2);
});

test('a request that differs in what it shows is charged by itself', async () => {
  souk.upstream.on('product', knowsEveryProduct);
  const [client, asin] = [await souk.client(), newAsin()];
  await client.get(productOf(asin));
  souk.clock.advance(1);
  const other = await client.get(`${productOf(asin)}&detailLevel=full`);
  expect(other.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'HIT' });
  expect(asksFor(asin)).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(2);
});

test('two keys of one account share their calls', async () => {
  souk.upstream.on('product', knowsEveryProduct);
  const { accountId, key } = await souk.account();
  const asin = newAsin();
  await souk.clientOf(key).get(productOf(asin));
  const other = souk.clientOf(await createKey(souk.database, accountId, souk.clock.now()));
  expect((await other.get(productOf(asin))).headers['x-units-consumed']).toBe('0');
});

test('charges a repeated call after the first one has failed', async () => {
  const [client, asin] = [await souk.client(), newAsin()];
  souk.upstream.on('product', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
  const failed = await client.get(productOf(asin));
  expect(failed.status).toBe(502);
  expect(failed.headers['x-units-consumed']).toBe('0');
  expect(await unitsUsed(client)).toBe(0);
  souk.upstream.on('product', knowsEveryProduct);
  const next = await client.get(productOf(asin));
  expect(next.status).toBe(200);
  expect(next.headers['x-units-consumed']).toBe('1');
  expect(next.headers['x-job-id']).not.toBe(failed.headers['x-job-id']);
  expect(await unitsUsed(client)).toBe(1);
});

test('a request that joined a failing call gets its error and is not charged', async () => {
  const { reached, open } = gate();
  souk.upstream.on('product', async () => {
    await reached;
    return { status: 400, json: { error: { type: 'invalidParameter' } } };
  });
  const [client, asin] = [await souk.client(), newAsin()];
  const first = client.get(productOf(asin));
  await expect.poll(() => asksFor(asin)).toHaveLength(1);
  const timers = souk.clock.waiting;
  const second = client.get(productOf(asin));
  await expect.poll(() => souk.clock.waiting).toBeGreaterThan(timers);
  open();
  for (const reply of await Promise.all([first, second])) {
    expect(reply.status).toBe(502);
    expect(reply.json.code).toBe('UPSTREAM_ERROR');
    expect(reply.headers['x-units-consumed']).toBe('0');
  }
  expect(asksFor(asin)).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(0);
});

test('five minutes after it was accepted a call is charged again, though its answer comes from the cache', async () => {
  souk.upstream.on('product', knowsEveryProduct);
  const [client, asin] = [await souk.client(), newAsin()];
  await client.get(productOf(asin));
  souk.clock.advance(299_999);
  expect((await client.get(productOf(asin))).headers['x-deduplicated']).toBe('true');
  souk.clock.advance(1);
  const again = await client.get(productOf(asin));
  expect(again.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'HIT' });
  expect(again.headers).not.toHaveProperty('x-deduplicated');
  expect(again.json.data.fromCache).toBe(true);
  expect(asksFor(asin)).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(2);
});

test('a call that runs for longer than five minutes is still joined', async () => {
  const idle = await openSouk();
  const client = await idle.client();
  // Whoever served its pool is gone when it is accepted, so it waits for its turn.
  await stopWorkers(idle);
  const path = `${productOf(newAsin())}&async=1`;
  const first = await client.get(path);
  idle.clock.advance(301_000);
  const second = await client.get(path);
  expect(second.headers).toMatchObject({ 'x-deduplicated': 'true', location: first.headers.location });
  expect(await unitsUsed(client)).toBe(1);
  await idle.close();
});
