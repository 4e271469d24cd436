import { Redis } from 'ioredis';
import { describe, expect } from 'vitest';
import { ledgerLines } from '../../../src/billing/ledger-lines.ts';
import { holdProducts, newAsin } from '../../support/answers.ts';
import { type Receiver, verified } from '../../support/receiver.ts';
import type { Souk } from '../../support/souk.ts';
import { test as base } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';
import { sendDue, type WebhookCustomer, webhookCustomer } from '../../support/webhooks.ts';
import { stopWorkers } from '../../support/workers.ts';

const test = base.extend('customer', ({ souk, upstream: _ }) => webhookCustomer(souk));

/** A call for a new product, with a webhook. */
const newCall = (receiver: Receiver, url = receiver.url) =>
  `/api/market/product?domain=1&asins=${newAsin()}&webhook=${encodeURIComponent(url)}`;

/** The verified messages that the receiver has. */
const delivered = (souk: Souk, customer: WebhookCustomer, receiver: Receiver) =>
  receiver.received.map((message) => verified(message, customer.secret, souk.clock.now()));

test('delivers a finished job as GET /api/jobs/{id} shows it, with a link to its result', async ({
  souk,
  customer,
  receiver,
}) => {
  const { client } = customer;
  const job = (await client.get(`${newCall(receiver)}&async=1`)).json.data;
  const { data } = (await client.get(`${job.links.self}?wait=30`)).json;
  await sendDue(souk);
  const { jobId, operation, state, unitsCharged, error, links, finishedAt } = data;
  expect(delivered(souk, customer, receiver)).toEqual([
    {
      type: 'job.completed',
      timestamp: finishedAt,
      livemode: true,
      data: { jobId, operation, state, unitsCharged, error, links: expect.any(Object) },
    },
  ]);
  expect([state, unitsCharged, error]).toEqual(['done', 1, null]);
  const [message] = delivered(souk, customer, receiver) as [{ data: { links: Record<string, string> } }];
  expect(message.data.links).toEqual({ self: links.self, result: links.result });
  expect((await client.get(links.result)).json.data.count).toBe(1);
});

test('delivers a failed job with its error and no charge', async ({ souk, customer, receiver }) => {
  souk.upstream.on('product', () => ({ status: 400, json: { error: { type: 'x', message: 'no' } } }));
  const { client } = customer;
  const job = (await client.get(`${newCall(receiver)}&async=1`)).json.data;
  const { data } = (await client.get(`${job.links.self}?wait=30`)).json;
  await sendDue(souk);
  expect(delivered(souk, customer, receiver)).toMatchObject([
    { data: { jobId: job.jobId, state: 'failed', unitsCharged: 0, error: { code: 'UPSTREAM_ERROR' } } },
  ]);
  expect(delivered(souk, customer, receiver)).toMatchObject([{ data: { error: data.error } }]);
});

test('delivers a cancelled job as cancelled', async ({ souk, customer, receiver }) => {
  const { client } = customer;
  await stopWorkers(souk);
  const { links } = (await client.get(`${newCall(receiver)}&async=1`)).json.data;
  const { data } = (await client.get(links.self, { method: 'DELETE' })).json;
  await souk.addWorker();
  await sendDue(souk);
  // The new worker may have taken the delivery before.
  await expect
    .poll(() => delivered(souk, customer, receiver))
    .toMatchObject([{ data: { state: 'cancelled', unitsCharged: 0, error: data.error } }]);
});

test('a dry run delivers nothing, and refuses a bad webhook', async ({ souk, customer, receiver }) => {
  const { client } = customer;
  expect((await client.get(`${newCall(receiver)}&dryRun=1`)).json.data.dryRun).toBe(true);
  expect((await client.get(`${newCall(receiver, 'hook')}&dryRun=1`)).status).toBe(400);
  await sendDue(souk);
  expect(receiver.received).toEqual([]);
});

test('delivers nothing before the job ends', async ({ souk, customer, receiver }) => {
  const open = holdProducts(souk.upstream);
  const { client } = customer;
  const { links } = (await client.get(`${newCall(receiver)}&async=1`)).json.data;
  await sendDue(souk);
  expect(receiver.received).toEqual([]);
  open();
  await client.get(`${links.self}?wait=30`);
  await sendDue(souk);
  expect(receiver.received).toHaveLength(1);
});

test('delivers synchronous calls, cached or not', async ({ souk, customer, receiver }) => {
  const { client } = customer;
  const path = newCall(receiver);
  expect((await client.get(path)).json.data.count).toBe(1);
  const other = await webhookCustomer(souk);
  const cached = await other.client.get(path);
  expect(cached.headers['x-cache']).toBe('HIT');
  await sendDue(souk);
  expect(receiver.received).toHaveLength(2);
  const messages = receiver.received.map(({ body }) => JSON.parse(body).data);
  expect(messages.map(({ state, unitsCharged }) => [state, unitsCharged])).toEqual([
    ['done', 1],
    ['done', 1],
  ]);
});

test('delivers a joined job once to each of its webhooks', async ({ souk, customer, receiver }) => {
  const open = holdProducts(souk.upstream);
  const { client } = customer;
  const call = newCall(receiver);
  const { jobId, links } = (await client.get(`${call}&async=1`)).json.data;
  await client.get(`${call}&async=1`);
  const elsewhere = encodeURIComponent(`${receiver.url}/elsewhere`);
  const joined = await client.get(`${call.replace(/webhook=.*/, `webhook=${elsewhere}`)}&async=1`);
  expect(joined.json.data.jobId).toBe(jobId);
  open();
  await client.get(`${links.self}?wait=30`);
  await sendDue(souk);
  expect(receiver.received.map(({ path }) => path).sort()).toEqual(['/', '/elsewhere']);
  expect(await unitsUsed(client)).toBe(1);
});

test('reads the webhook of a POST from the query', async ({ souk, customer, receiver }) => {
  const { client } = customer;
  const path = `/api/market/product?async=1&webhook=${encodeURIComponent(receiver.url)}`;
  const { links } = (await client.post(path, { domain: 1, asins: ['B0HOOKPOST'] })).json.data;
  await client.get(`${links.self}?wait=30`);
  await sendDue(souk);
  expect(delivered(souk, customer, receiver)).toMatchObject([
    { data: { operation: 'market.product', state: 'done' } },
  ]);
});

describe('refuses without a charge', () => {
  test.for([
    ['a text that is not a URL', 'hook', 'webhook: must be an address such as'],
    ['an empty webhook', '', 'webhook: must be a text of 1 to 2000 characters'],
    [
      'the address of a metadata service',
      'http://169.254.169.254/',
      'webhook: must not resolve to a private',
    ],
  ] as const)('%s', async ([_what, url, problem], { customer, receiver }) => {
    const reply = await customer.client.get(newCall(receiver, url));
    expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(reply.json.msg).toContain(problem);
    expect(await unitsUsed(customer.client)).toBe(0);
  });

  test.for([
    ['is fetched', false, ''],
    ['is fetched as a job', false, '&async=1'],
    ['is answered from the cache', true, ''],
    ['is answered from the cache as a job', true, '&async=1'],
  ] as const)(
    'a call that %s and whose webhook cannot be registered',
    async ([_what, isCached, as], { souk, customer, receiver, upstream }) => {
      const { client, accountId } = customer;
      const call = newCall(receiver);
      const path = `${call}${as}`;
      if (isCached) await (await webhookCustomer(souk)).client.get(call);
      const fetched = upstream.calls.length;
      const locker = await souk.database.connect();
      await locker.query('begin; lock table call_webhook_counts in exclusive mode');
      const refused = await client.get(path);
      await locker.query('rollback');
      locker.release();
      expect([refused.status, refused.json.code]).toEqual([503, 'BUSY']);
      expect(await unitsUsed(client)).toBe(0);
      const lines = await ledgerLines(souk.database, accountId, { limit: 10 });
      expect(lines.map(({ kind, units }) => [kind, units])).toEqual([
        ['release', 1],
        ['reserve', 1],
      ]);
      expect(upstream.calls).toHaveLength(fetched);
      expect((await client.get(path)).status).toBe(as ? 202 : 200);
    },
  );

  test('two webhooks', async ({ customer, receiver }) => {
    const reply = await customer.client.get(`${newCall(receiver)}&webhook=https://example.com/`);
    expect(reply.json.msg).toContain('webhook: was given more than once');
  });

  test('an account without signing secret, naming the endpoint for one', async ({ souk, receiver }) => {
    const client = await souk.client();
    const reply = await client.get(newCall(receiver));
    expect(reply.status).toBe(400);
    expect(reply.json.msg).toMatch(/^webhook: .*POST \/api\/webhooks\/secret/);
    expect(await unitsUsed(client)).toBe(0);
  });

  test('a bad key before it checks the webhook', async ({ customer, receiver }) => {
    const { raw } = customer.client;
    expect((await raw(newCall(receiver, 'hook'))).json.code).toBe('4001');
    const headers = { 'x-api-key': `km_${'A'.repeat(32)}` };
    expect((await raw(newCall(receiver), { headers })).json.code).toBe('4001');
  });
});

test('neither Redis nor log has secrets or addresses of webhooks', async ({ souk, customer, receiver }) => {
  const open = holdProducts(souk.upstream);
  const { client, secret } = customer;
  const { links } = (await client.get(`${newCall(receiver, `${receiver.url}/hush-hush`)}&async=1`)).json.data;
  const redis = new Redis(souk.redisUrl);
  try {
    const keys = await redis.keys(`*${souk.redisNamespace}*`);
    const dumps = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
    const everything = Buffer.concat(dumps.filter((dump) => dump !== null)).toString('latin1');
    expect(everything).toContain('B0NEW');
    expect(everything).not.toContain(secret.slice(6));
    expect(everything).not.toContain('hush-hush');
  } finally {
    redis.disconnect();
  }
  open();
  await client.get(`${links.self}?wait=30`);
  await sendDue(souk);
  const log = souk.logLines.join('');
  expect(log).toContain('message attempted');
  expect(log.includes(secret.slice(6))).toBe(false);
  expect(log.includes('hush-hush')).toBe(false);
});
