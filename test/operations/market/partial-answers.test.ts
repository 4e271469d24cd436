import { expect, vi } from 'vitest';
import { ledgerLines } from '../../../src/billing/ledger-lines.ts';
import { queuedOperation } from '../../../src/operations/index.ts';
import { holdProducts, knowsEveryProduct, newAsin } from '../../support/answers.ts';
import { expectBalancesOfLedger } from '../../support/balances.ts';
import type { Reply } from '../../support/client.ts';
import { gate, type Script, type ScriptedUpstream } from '../../support/scripted-upstream.ts';
import { test } from '../../support/souk-test.ts';
import { endOf } from '../../support/time.ts';
import { unitsUsed } from '../../support/units.ts';

const PRODUCT = '/api/market/product';

test.beforeEach(({ souk }) => souk.clock.advance(1));

const newAsins = (count: number) => Array.from({ length: count }, newAsin);
const pathOf = (asins: readonly string[], rest = '') => `${PRODUCT}?domain=1&asins=${asins.join(',')}${rest}`;
const asinsOf = ({ json }: Reply) => json.data.products.map(({ asin }: { asin: string }) => asin);
const askedFor = (upstream: ScriptedUpstream) =>
  upstream.callsTo('product').map(({ params }) => (params.asin ?? '').split(','));
const errorOf = (asin: string | undefined, errorId = 'UPSTREAM_ERROR') => ({ asin, errorId });

/** The provider's answer to a request with an invalid value. It does not name the value. */
const REJECTION = {
  status: 400,
  json: {
    timestamp: 1,
    tokensLeft: 9_000,
    refillIn: 30_000,
    refillRate: 300,
    tokensConsumed: 0,
    error: { type: 'invalidParameter', message: 'Invalid.', details: '' },
  },
};

/** Rejects each request for one of some ASINs. */
function rejecting(...bad: (string | undefined)[]): Script {
  return (call, response) =>
    call.params.asin?.split(',').some((asin) => bad.includes(asin))
      ? REJECTION
      : knowsEveryProduct(call, response);
}

test('one ASIN that the provider rejects is in errors[], and the 99 others are returned, charged and cached', async ({
  souk,
  client,
  account,
  upstream,
}) => {
  const asins = newAsins(100);
  const [bad] = asins.slice(37);
  upstream.on('product', rejecting(bad));
  const reply = await client.get(pathOf(asins));
  expect([reply.status, reply.json.code]).toEqual([200, '0000']);
  expect(reply.json.data).toMatchObject({ count: 99, errors: [errorOf(bad)] });
  expect(reply.headers['x-units-consumed']).toBe('99');
  const lines = await ledgerLines(souk.database, account.accountId, { limit: 10 });
  expect(lines.map(({ kind, units }) => [kind, units])).toEqual([
    ['release', 1],
    ['settle', 99],
    ['reserve', 100],
  ]);
  // Each half that is rejected is divided again: 100, 50, 25, 13, 7, 4, 2, 1.
  expect(upstream.calls.length).toBeLessThanOrEqual(15);
  expect(souk.events.seen('failure').at(-1)).toMatchObject({
    code: 'UPSTREAM_ERROR',
    place: 'market.product',
  });

  upstream.calls.length = 0;
  souk.clock.advance(1);
  const others = asins.filter((asin) => asin !== bad);
  const other = await (await souk.client()).get(pathOf(others));
  expect(other.headers).toMatchObject({ 'x-cache': 'HIT', 'x-units-consumed': '99' });
  expect(upstream.calls).toEqual([]);
});

test('a rejected request is divided at most twenty times, and the call is released if no ASIN can be fetched', async ({
  client,
  upstream,
}) => {
  const asins = newAsins(100);
  upstream.on('product', rejecting(...asins));
  const reply = await client.get(pathOf(asins));
  expect(upstream.calls).toHaveLength(41);
  expect([reply.status, reply.json.code, reply.headers['x-units-consumed']]).toEqual([
    502,
    'UPSTREAM_ERROR',
    '0',
  ]);
  expect(await unitsUsed(client)).toBe(0);
});

test.for([
  ['answered with 402', () => ({ status: 402, json: {} })],
  ['answered without a list', () => ({ json: {} })],
] as const)('a request that is %s is not divided', async ([_how, script], { client, upstream }) => {
  upstream.on('product', script);
  expect((await client.get(pathOf(newAsins(8)))).status).toBe(502);
  expect(upstream.calls).toHaveLength(1);
});

test('ninety cached ASINs are returned if ten others cannot be had', async ({ souk, client, upstream }) => {
  const asins = newAsins(100);
  await (await souk.client()).get(pathOf(asins.slice(0, 90)));
  upstream.on('product', () => ({ status: 500, json: {} }));
  const reply = await endOf(souk.clock, client.get(pathOf(asins)));
  expect(asinsOf(reply)).toEqual(asins.slice(0, 90));
  expect(reply.json.data.errors).toEqual(asins.slice(90).map((asin) => errorOf(asin)));
  expect(reply.headers['x-units-consumed']).toBe('90');
});

test('if upstream does not answer one request in time, only the ASINs of that request fail', async ({
  souk,
  client,
  upstream,
}) => {
  // With offers, a request has at most 20 ASINs.
  const asins = newAsins(40);
  upstream.on('product', (call, response) =>
    call.params.asin?.includes(asins[0] ?? '') ? new Promise(() => {}) : knowsEveryProduct(call, response),
  );
  const missed = souk.events.next('source.miss', {}, 20);
  const waiting = client.get(pathOf(asins, '&offers=20'));
  await missed;
  souk.clock.advance(60_000);
  const reply = await waiting;
  expect([reply.status, reply.headers['x-units-consumed']]).toEqual([200, '20']);
  expect(asinsOf(reply)).toEqual(asins.slice(20));
  expect(reply.json.data.errors).toEqual(asins.slice(0, 20).map((asin) => errorOf(asin, 'UPSTREAM_TIMEOUT')));
  await upstream.abandoned(1);
});

test('a call of another account that waits for a failing ASIN gets the error for it, and the data of its other ASINs', async ({
  souk,
  client,
  upstream,
}) => {
  const [good, bad, another] = newAsins(3) as [string, string, string];
  const { reached, open } = gate();
  upstream.on('product', async (call, response) => {
    if (call.params.asin !== another) await reached;
    return rejecting(bad)(call, response);
  });
  const first = client.get(pathOf([good, bad]));
  await upstream.received(1);
  const followed = souk.events.next('source.followed');
  const second = (await souk.client()).get(pathOf([bad, another]));
  await followed;
  open();
  const replies = [await first, await second];
  expect(replies.map(asinsOf)).toEqual([[good], [another]]);
  expect(replies.map(({ json }) => json.data.errors)).toEqual([[errorOf(bad)], [errorOf(bad)]]);
  expect(askedFor(upstream).filter((asins) => asins.includes(bad))).toEqual([[good, bad], [bad]]);
});

test('the same call again fetches the ASINs that failed, and is charged for them only', async ({
  souk,
  client,
  account,
  upstream,
}) => {
  const asins = newAsins(10);
  const [one, two] = asins;
  upstream.on('product', rejecting(one, two));
  const units: unknown[] = [];
  const ask = async () => {
    upstream.calls.length = 0;
    const reply = await client.get(pathOf(asins));
    units.push(reply.headers['x-units-consumed']);
    return reply;
  };
  expect((await ask()).json.data.count).toBe(8);
  upstream.on('product', rejecting(two));
  expect((await ask()).json.data).toMatchObject({ count: 9, errors: [errorOf(two)] });
  expect(askedFor(upstream)).toEqual([[one, two], [one], [two]]);
  const still = await ask();
  expect(still.json.data).toMatchObject({ count: 9, errors: [errorOf(two)] });
  upstream.on('product', knowsEveryProduct);
  const whole = await ask();
  expect(whole.json.data).toMatchObject({ count: 10, errors: [] });
  expect(askedFor(upstream)).toEqual([[two]]);
  const joined = await ask();
  expect(joined.json.data.count).toBe(10);
  expect(joined.headers['x-deduplicated']).toBe('true');
  expect(units).toEqual(['8', '1', '0', '1', '0']);
  expect(await unitsUsed(client)).toBe(10);
  await expectBalancesOfLedger(souk, account.accountId);

  // After five minutes it is a new call.
  souk.clock.advance(300_000);
  expect((await ask()).headers['x-units-consumed']).toBe('10');
});

test('the same call again is charged for the rest only if another account has fetched it meanwhile', async ({
  souk,
  client,
  upstream,
}) => {
  const asins = newAsins(5);
  upstream.on('product', rejecting(asins[0]));
  expect((await client.get(pathOf(asins))).headers['x-units-consumed']).toBe('4');
  upstream.on('product', knowsEveryProduct);
  await (await souk.client()).get(pathOf(asins));
  const again = await client.get(pathOf(asins));
  expect(again.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'HIT' });
  expect(again.json.data.count).toBe(5);
  expect(await unitsUsed(client)).toBe(5);
});

test('the same call again is charged for the rest if the price changes while it is open', async ({
  client,
  upstream,
}) => {
  const asins = newAsins(4);
  upstream.on('product', rejecting(asins[0]));
  expect((await client.get(pathOf(asins))).headers['x-units-consumed']).toBe('3');
  const open = holdProducts(upstream);
  upstream.calls.length = 0;
  const again = client.get(pathOf(asins));
  await upstream.received(1, 'product');
  const price = queuedOperation('market.product')?.price;
  if (!price) throw new Error('there is no such operation');
  const quote = vi.spyOn(price, 'quote').mockReturnValue(8);
  try {
    open();
    expect((await again).headers['x-units-consumed']).toBe('1');
  } finally {
    quote.mockRestore();
  }
  expect(await unitsUsed(client)).toBe(4);
});

test('requests that repeat a call with a partial answer at the same time share one call', async ({
  souk,
  account,
  upstream,
}) => {
  await souk.addGateway();
  const asins = newAsins(4);
  const clients = [0, 1, 0, 1].map((gateway) => souk.clientOf(account.key, gateway));
  upstream.on('product', rejecting(asins[3]));
  await clients[0]?.get(pathOf(asins));
  upstream.on('product', knowsEveryProduct);
  const replies = await Promise.all(clients.map((one) => one.get(pathOf(asins))));
  expect(replies.map(({ json }) => json.data?.count ?? json)).toEqual([4, 4, 4, 4]);
  expect(replies.map(({ headers }) => Number(headers['x-units-consumed'])).sort((a, b) => a - b)).toEqual([
    0, 0, 0, 1,
  ]);
});

test('an unknown ASIN is charged, and one that could not be fetched is not', async ({ client, upstream }) => {
  const [unknown, bad] = newAsins(2);
  upstream.on('product', (call, response) =>
    call.params.asin?.includes(bad ?? '') ? rejecting(bad)(call, response) : { json: { products: [] } },
  );
  const reply = await client.get(pathOf([unknown ?? '', bad ?? '']));
  expect([reply.status, reply.headers['x-units-consumed']]).toEqual([200, '1']);
  expect(reply.json.data.errors).toEqual([errorOf(unknown, 'PRODUCT_NOT_FOUND'), errorOf(bad)]);
});

test('the result of a partial job is readable and charged for what it has', async ({ client, upstream }) => {
  const asins = newAsins(3);
  upstream.on('product', rejecting(asins[1]));
  const { links } = (await client.get(pathOf(asins, '&async=1'))).json.data;
  expect((await client.get(`${links.self}?wait=30`)).json.data).toMatchObject({
    state: 'done',
    unitsReserved: 3,
    unitsCharged: 2,
  });
  const result = await client.get(links.result);
  expect(asinsOf(result)).toEqual([asins[0], asins[2]]);
  expect(result.headers['x-units-charged']).toBe('2');
});
