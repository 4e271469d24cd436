import { expect } from 'vitest';
import { newAsin } from '../../support/answers.ts';
import { createSchedule, productsHourly, runsOf, runThrough } from '../../support/schedules.ts';
import { test as base } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';
import { enqueueEvent, startSending, storedDelivery, webhookCustomer } from '../../support/webhooks.ts';

const test = base.extend('customer', ({ souk }) => webhookCustomer(souk));

test.override('soukOptions', { webhookLimits: { perCall: 3, pendingPerAccount: 5, hostsPerAccount: 2 } });

const addressed = (call: string, url: string) => `${call}&webhook=${encodeURIComponent(url)}`;

test('refuses a fourth webhook of a call at no charge, before and after the end of the call', async ({
  souk,
  customer,
  receiver,
  upstream,
}) => {
  const { client } = customer;
  const call = `/api/market/product?domain=1&asins=${newAsin()}`;
  expect((await client.get(addressed(call, `${receiver.url}/0`))).status).toBe(200);
  const joined = await Promise.all(
    Array.from({ length: 10 }, (_, i) => client.get(addressed(call, `${receiver.url}/${i + 1}`))),
  );
  const refused = joined.filter(({ status }) => status !== 200);
  expect(refused).toHaveLength(8);
  for (const { status, json, headers } of refused) {
    expect([status, json.code, headers['retry-after']]).toEqual([429, 'LIMIT_REACHED', '300']);
    expect(json.metadata).toEqual({ limit: 3, of: 'webhooksOfCall' });
  }
  expect((await client.get(call)).status).toBe(200);
  expect(await unitsUsed(client)).toBe(1);
  expect(upstream.calls.length).toBe(1);
  await expect
    .poll(() => {
      souk.clock.advance(1_000);
      return receiver.received.length;
    })
    .toBe(3);
  // Deliveries that were sent count as well.
  expect((await client.get(addressed(call, `${receiver.url}/late`))).json.code).toBe('LIMIT_REACHED');
  const { rows } = await souk.database.query('select 1 from outbox where account_id = $1', [
    customer.accountId,
  ]);
  expect(rows).toHaveLength(3);
});

test('refuses calls and batches with a webhook at no charge while five deliveries are pending', async ({
  souk,
  customer,
  receiver,
  upstream,
}) => {
  const { client, accountId } = customer;
  receiver.react(() => 503);
  for (let i = 0; i < 5; i += 1) await enqueueEvent(souk, accountId, receiver.url);
  const call = `/api/market/product?domain=1&asins=${newAsin()}`;
  const refused = await client.get(addressed(call, receiver.url));
  expect([refused.status, refused.json.code, refused.json.metadata]).toEqual([
    429,
    'LIMIT_REACHED',
    { limit: 5, of: 'pendingWebhooks' },
  ]);
  const batch = { operation: 'market.product', params: { domain: 1 }, split: { asins: [newAsin()] } };
  const refusedBatch = await client.post('/api/batches', { ...batch, webhook: receiver.url });
  expect([refusedBatch.status, refusedBatch.json.code]).toEqual([429, 'LIMIT_REACHED']);
  expect(await unitsUsed(client)).toBe(0);
  expect(upstream.calls).toEqual([]);
  const { client: other } = await webhookCustomer(souk);
  expect((await other.get(addressed(call, receiver.url))).status).toBe(200);
  expect((await client.get(call)).status).toBe(200);
});

test('sends no webhook of a run of a schedule that ends while five deliveries are pending', async ({
  souk,
  customer,
  receiver,
  upstream: _,
}) => {
  const { client, accountId } = customer;
  receiver.react(() => 503);
  const { batch } = productsHourly([newAsin()]);
  const body = productsHourly([], { paused: true, batch: { ...batch, webhook: receiver.url } });
  const schedule = await createSchedule(client, body);
  const messages = async () => {
    const { rows } = await souk.database.query<{ kind: string }>(
      'select kind from outbox where account_id = $1',
      [accountId],
    );
    return rows.filter(({ kind }) => kind === 'batch.completed').length;
  };
  await runThrough(souk, client, schedule);
  expect(await messages()).toBe(1);
  for (let i = 0; i < 4; i += 1) await enqueueEvent(souk, accountId, receiver.url);
  const { batchId } = await runThrough(souk, client, schedule);
  expect(await messages()).toBe(1);
  expect(await runsOf(client, schedule)).toMatchObject([{ batchId, state: 'finished' }, {}]);
});

test('refuses a call, a batch and a replay with a third pending host at no charge, and one with a pending host not', async ({
  souk,
  customer,
  receiver,
  upstream,
}) => {
  const { client, accountId } = customer;
  const delivered = await enqueueEvent(souk, accountId, receiver.url);
  await expect
    .poll(async () => {
      souk.clock.advance(1_000);
      return (await storedDelivery(souk, delivered)).state;
    })
    .toBe('delivered');
  const { port } = new URL(receiver.url);
  const hosts = [`http://127.0.0.2:${port}/`, `http://127.0.0.3:${port}/`];
  for (const url of hosts) await enqueueEvent(souk, accountId, url);
  const call = `/api/market/product?domain=1&asins=${newAsin()}`;
  const batch = { operation: 'market.product', params: { domain: 1 }, split: { asins: [newAsin()] } };
  const refusals = [
    await client.get(addressed(call, receiver.url)),
    await client.post('/api/batches', { ...batch, webhook: receiver.url }),
    await client.post(`/api/webhooks/deliveries/${delivered}/replay`, {}),
  ];
  for (const { status, json } of refusals)
    expect([status, json.code, json.metadata]).toEqual([
      429,
      'LIMIT_REACHED',
      { limit: 2, of: 'pendingWebhookHosts' },
    ]);
  expect(await unitsUsed(client)).toBe(0);
  expect(upstream.calls).toEqual([]);
  expect((await client.get(addressed(call, hosts[1] ?? ''))).status).toBe(200);
  await souk.database.query('delete from outbox where account_id = $1', [accountId]);
});

test('delivers to a host for one account soon, although another has 2,000 deliveries to it', async ({
  souk,
  customer,
  receiver,
}) => {
  const flooder = await webhookCustomer(souk);
  await souk.database.query(
    `insert into outbox (id, channel, account_id, recipient, host, kind, payload, next_attempt_at, created_at)
     select gen_random_uuid(), 'webhook', $1, $2, $3, 'flood', '{}', $4, $4 from generate_series(1, 2000)`,
    [
      flooder.accountId,
      `${receiver.url}/flood`,
      new URL(receiver.url).host,
      new Date(souk.clock.now() - 60_000),
    ],
  );
  await enqueueEvent(souk, customer.accountId, `${receiver.url}/other`);
  startSending(souk);
  await expect
    .poll(() => receiver.received.findIndex(({ path }) => path === '/other'), { timeout: 30_000 })
    .toBeGreaterThanOrEqual(0);
  // A worker and this sender each have four deliveries of the flood under way at most.
  expect(receiver.received.findIndex(({ path }) => path === '/other')).toBeLessThan(40);
  await souk.database.query('delete from outbox where account_id = $1', [flooder.accountId]);
});
