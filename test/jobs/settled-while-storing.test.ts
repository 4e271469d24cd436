// biome-ignore-all lint/correctness/noEmptyPattern: Vitest reads from the pattern which fixtures are used.
// oxlint-disable no-empty-pattern -- for the same reason
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { findCall } from '../../src/billing/calls.ts';
import { createSettlements } from '../../src/billing/settlement.ts';
import { holdProducts, knowsEveryProduct } from '../support/answers.ts';
import { expectBalancesOfLedger } from '../support/balances.ts';
import { type OwnServers, openOwnServers } from '../support/own-servers.ts';
import { gate } from '../support/scripted-upstream.ts';
import { test as base } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';
import { webhookCustomer } from '../support/webhooks.ts';

const test = base
  .extend('servers', { scope: 'file' }, async ({}, { onCleanup }): Promise<OwnServers> => {
    const servers = await openOwnServers();
    onCleanup(() => servers.close());
    return servers;
  })
  .override('soukOptions', ({ servers }) => ({ servers, answerLimitMs: 60_000 }));

const productOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;

test('a call is settled while its answer is being stored, and answered when both are done', async ({
  souk,
  servers,
  client,
  upstream,
}) => {
  const release = holdProducts(upstream);
  const reply = client.get(productOf('B0STORING1'));
  await upstream.received(1, 'product');
  const settled = souk.events.next('call.settled');
  await servers.freeze('redis');
  release();
  await settled;
  expect(souk.events.seen('job.ended')).toEqual([]);
  servers.thaw();
  const { status, headers } = await reply;
  expect([status, headers['x-units-consumed']]).toEqual([200, '1']);
  expect((await client.get(`/api/jobs/${headers['x-job-id']}/result`)).status).toBe(200);
});

test.for([
  { caller: 'caller that polls', asin: 'B0STORING4', query: '&async=1' },
  {
    caller: 'caller with a webhook',
    asin: 'B0STORING6',
    query: `&webhook=${encodeURIComponent('https://example.com/ended')}`,
  },
])(
  'the call of a $caller is not settled before its answer is stored',
  async ({ asin, query }, { souk, servers, client, upstream }) => {
    const customer = await webhookCustomer(souk);
    const [first, second] = [gate(), gate()];
    upstream.on('product', async (call, response) => {
      await (call.params.asin === asin ? first : second).reached;
      return knowsEveryProduct(call, response);
    });
    const reply = customer.client.get(`${productOf(asin)}${query}`);
    const other = client.get(productOf(asin.replace('STORING', 'ANOTHER')));
    await upstream.received(2, 'product');
    await servers.freeze('redis');
    const fetched = souk.events.next('source.miss', { accountId: customer.accountId });
    first.open();
    await fetched;
    // This call is settled later than the first one would be.
    const settled = souk.events.next('call.settled');
    second.open();
    expect(await settled).not.toMatchObject({ accountId: customer.accountId });
    const ended = souk.events.next('job.ended', { accountId: customer.accountId });
    servers.thaw();
    expect(await ended).toMatchObject({ state: 'settled' });
    expect([(await reply).status, (await other).status]).toEqual([query === '&async=1' ? 202 : 200, 200]);
  },
);

test('refunds a call that was settled if its answer cannot be stored, and tells the request that waits for it', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const release = holdProducts(upstream);
  const waiting = client.get(productOf('B0STORING2'));
  await upstream.received(1, 'product');
  const redis = new Redis(souk.redisUrl);
  // Redis refuses to store anything.
  await redis.config('SET', 'maxmemory', '1');
  const refunded = souk.events.next('call.refunded');
  release();
  const reply = await waiting;
  await redis.config('SET', 'maxmemory', '0');
  redis.disconnect();
  expect(await refunded).toMatchObject({ units: 1 });
  expect([reply.status, reply.headers['x-units-consumed'] ?? '0']).toEqual([500, '0']);
  expect(await unitsUsed(client)).toBe(0);
  await expectBalancesOfLedger(souk, account.accountId);
});

test('a job that runs again after its worker has settled the call, and stored nothing, answers its request and charges once', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const { accountId } = account;
  const release = holdProducts(upstream);
  const waiting = client.get(productOf('B0STORING3'));
  await upstream.received(1, 'product');
  const [call] = souk.events.seen('job.started', { accountId });
  const callId = call?.callId ?? '';
  const settlements = createSettlements(souk.database, souk.clock.now);
  const ending = { accountId, callId, units: 1, answer: 'own', error: null, startedAt: null, attempts: 1 };
  expect(await settlements.end(ending)).toMatchObject({ endedNow: true, state: 'settled' });
  release();
  const reply = await waiting;
  expect([reply.status, reply.headers['x-units-consumed']]).toEqual([200, '1']);
  expect(await findCall(souk.database, accountId, callId)).toMatchObject({
    state: 'settled',
    unitsCharged: 1,
  });
  expect(await unitsUsed(client)).toBe(1);
  await expectBalancesOfLedger(souk, accountId);
});
