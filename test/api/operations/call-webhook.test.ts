import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { knowsEveryProduct } from '../../support/answers.ts';
import { openReceiver, type Receiver, verified } from '../../support/receiver.ts';
import { gate } from '../../support/scripted-upstream.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { unitsUsed } from '../../support/units.ts';
import { sendDue, type WebhookCustomer, webhookCustomer } from '../../support/webhooks.ts';

let souk: Souk;
let customer: WebhookCustomer;
let receiver: Receiver;
beforeAll(async () => {
  souk = await openSouk();
});
afterAll(() => souk.close());
beforeEach(async () => {
  souk.upstream.on('product', knowsEveryProduct);
  customer = await webhookCustomer(souk);
  receiver = await openReceiver();
});
afterEach(() => receiver.close());

let lastAsin = 0;
/** A call of a product nobody has asked for yet, with a webhook. */
function newCall(url = receiver.url): string {
  lastAsin += 1;
  const asin = `B0HOOK${String(lastAsin).padStart(4, '0')}`;
  return `/api/market/product?domain=1&asins=${asin}&webhook=${encodeURIComponent(url)}`;
}

/** What the receiver was told, each message verified. */
const told = () => receiver.received.map((message) => verified(message, customer.secret, souk.clock.now()));

test('a job that is done is told: what GET /api/jobs says of it, with its result where it says', async () => {
  const { client } = customer;
  const job = (await client.get(`${newCall()}&async=1`)).json.data;
  const { data } = (await client.get(`${job.links.self}?wait=30`)).json;
  await sendDue(souk);
  const { jobId, operation, state, unitsCharged, error, links, finishedAt } = data;
  expect(told()).toEqual([
    {
      type: 'job.completed',
      timestamp: finishedAt,
      data: { jobId, operation, state, unitsCharged, error, links: expect.any(Object) },
    },
  ]);
  expect([state, unitsCharged, error]).toEqual(['done', 1, null]);
  const [message] = told() as [{ data: { links: Record<string, string> } }];
  expect(message.data.links).toEqual({ self: links.self, result: links.result });
  expect((await client.get(links.result)).json.data.count).toBe(1);
});

test('a job that has failed is told with its error, and that it cost nothing', async () => {
  souk.upstream.on('product', () => ({ status: 400, json: { error: { type: 'x', message: 'no' } } }));
  const { client } = customer;
  const job = (await client.get(`${newCall()}&async=1`)).json.data;
  const { data } = (await client.get(`${job.links.self}?wait=30`)).json;
  await sendDue(souk);
  expect(told()).toMatchObject([
    { data: { jobId: job.jobId, state: 'failed', unitsCharged: 0, error: { code: 'UPSTREAM_ERROR' } } },
  ]);
  expect(told()).toMatchObject([{ data: { error: data.error } }]);
});

test('a job that is cancelled is told as cancelled', async () => {
  const { reached, open } = gate();
  souk.upstream.on('product', async (...call) => {
    await reached;
    return knowsEveryProduct(...call);
  });
  const { client } = customer;
  const { links } = (await client.get(`${newCall()}&async=1`)).json.data;
  const { data } = (await client.get(links.self, { method: 'DELETE' })).json;
  open();
  await sendDue(souk);
  expect(told()).toMatchObject([{ data: { state: 'cancelled', unitsCharged: 0, error: data.error } }]);
});

test('a dry run has nothing to tell, but a webhook that would be refused is', async () => {
  const { client } = customer;
  expect((await client.get(`${newCall()}&dryRun=1`)).json.data.dryRun).toBe(true);
  expect((await client.get(`${newCall('hook')}&dryRun=1`)).status).toBe(400);
  await sendDue(souk);
  expect(receiver.received).toEqual([]);
});

test('nothing is told before the end', async () => {
  const { reached, open } = gate();
  souk.upstream.on('product', async (...call) => {
    await reached;
    return knowsEveryProduct(...call);
  });
  const { client } = customer;
  const { links } = (await client.get(`${newCall()}&async=1`)).json.data;
  await sendDue(souk);
  expect(receiver.received).toEqual([]);
  open();
  await client.get(`${links.self}?wait=30`);
  await sendDue(souk);
  expect(receiver.received).toHaveLength(1);
});

test('a call that is answered at once, from what is known or not, is told too, and answered as ever', async () => {
  const { client } = customer;
  const path = newCall();
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

test('two who join one job are each told, one who asks twice once', async () => {
  const { reached, open } = gate();
  souk.upstream.on('product', async (...call) => {
    await reached;
    return knowsEveryProduct(...call);
  });
  const { client } = customer;
  const call = newCall();
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

test('a POST has its webhook in the address, beside the body', async () => {
  const { client } = customer;
  const path = `/api/market/product?async=1&webhook=${encodeURIComponent(receiver.url)}`;
  const { links } = (await client.post(path, { domain: 1, asins: ['B0HOOKPOST'] })).json.data;
  await client.get(`${links.self}?wait=30`);
  await sendDue(souk);
  expect(told()).toMatchObject([{ data: { operation: 'market.product', state: 'done' } }]);
});

describe('refused, with nothing charged:', () => {
  test.each([
    ['what is no address', 'hook', 'webhook: must be an address such as'],
    ['an empty one', '', 'webhook: must be a text of 1 to 2000 characters'],
    ['a metadata service', 'http://169.254.169.254/', 'webhook: must not resolve to a private'],
  ])('%s', async (_what, url, problem) => {
    const reply = await customer.client.get(newCall(url));
    expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(reply.json.msg).toContain(problem);
    expect(await unitsUsed(customer.client)).toBe(0);
  });

  test('two addresses', async () => {
    const reply = await customer.client.get(`${newCall()}&webhook=https://example.com/`);
    expect(reply.json.msg).toContain('webhook: was given more than once');
  });

  test('an account without a secret, which is told how to make one', async () => {
    const client = await souk.client();
    const reply = await client.get(newCall());
    expect(reply.status).toBe(400);
    expect(reply.json.msg).toMatch(/^webhook: .*POST \/api\/webhooks\/secret/);
    expect(await unitsUsed(client)).toBe(0);
  });

  test('a key that is no good, for which nothing else counts', async () => {
    const { raw } = customer.client;
    expect((await raw(newCall('hook'))).json.code).toBe('4001');
    const headers = { 'x-api-key': `km_${'A'.repeat(32)}` };
    expect((await raw(newCall(), { headers })).json.code).toBe('4001');
  });
});

test('neither secrets nor addresses of webhooks are in Redis or in the log', async () => {
  const { reached, open } = gate();
  souk.upstream.on('product', async (...call) => {
    await reached;
    return knowsEveryProduct(...call);
  });
  const { client, secret } = customer;
  const { links } = (await client.get(`${newCall(`${receiver.url}/hush-hush`)}&async=1`)).json.data;
  const redis = new Redis(souk.redisUrl);
  try {
    const keys = await redis.keys(`*${souk.redisNamespace}*`);
    const dumps = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
    const everything = Buffer.concat(dumps.filter((dump) => dump !== null)).toString('latin1');
    expect(everything).toContain('B0HOOK');
    expect(everything).not.toContain(secret.slice(6));
    expect(everything).not.toContain('hush-hush');
  } finally {
    redis.disconnect();
  }
  open();
  await client.get(`${links.self}?wait=30`);
  await sendDue(souk);
  const log = souk.logLines.join('');
  expect(log).toContain('webhook sent');
  expect(log.includes(secret.slice(6))).toBe(false);
  expect(log.includes('hush-hush')).toBe(false);
});
