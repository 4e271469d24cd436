import { describe, expect } from 'vitest';
import { TESTS_KEPT } from '../../../src/outbox/webhooks/deliveries.ts';
import { DAY_MS } from '../../../src/platform/durations.ts';
import { verified } from '../../support/receiver.ts';
import type { Souk } from '../../support/souk.ts';
import { test as base } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';
import { enqueueEvent, sendDue, webhookCustomer } from '../../support/webhooks.ts';

const test = base.extend('customer', ({ souk }) => webhookCustomer(souk));

test.override('soukOptions', { gateways: 2, workers: 0 });
test.afterEach(({ souk }) => souk.database.query('delete from outbox'));

const now = (souk: Souk) => new Date(souk.clock.now()).toISOString();
const inHours = (souk: Souk, hours: number) => new Date(souk.clock.now() + hours * 3_600_000).toISOString();
const DELIVERIES = '/api/webhooks/deliveries';

describe('the signing secret', () => {
  test('is absent at first, shown when it is created, and never again', async ({ souk }) => {
    const client = await souk.client();
    expect((await client.get('/api/webhooks')).json.data.secret).toBeNull();
    const created = await client.post('/api/webhooks/secret', {});
    expect(created.status).toBe(201);
    expect(created.headers['cache-control']).toBe('private, no-store');
    const { secret, ...state } = created.json.data;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(state).toEqual({ createdAt: now(souk), previousSignsUntil: null });
    const later = await client.get('/api/webhooks');
    expect(later.json.data.secret).toEqual(state);
    expect(later.body.toString()).not.toContain(secret);
  });

  test('is replaced by a new one, and the old one signs for 24 more hours', async ({ souk, customer }) => {
    const { client, secret } = customer;
    const rotated = (await client.post('/api/webhooks/secret', {})).json.data;
    expect(rotated.secret).not.toBe(secret);
    expect(rotated.previousSignsUntil).toBe(inHours(souk, 24));
    expect((await client.get('/api/webhooks')).json.data.secret.previousSignsUntil).toBe(inHours(souk, 24));
    souk.clock.advance(DAY_MS);
    expect((await client.get('/api/webhooks')).json.data.secret.previousSignsUntil).toBeNull();
  });

  test('can be created without a body', async ({ customer }) => {
    const reply = await customer.client.get('/api/webhooks/secret', { method: 'POST' });
    expect(reply.status).toBe(201);
  });
});

test('returns the rules of delivery: timeout, retries and retention of the log', async ({ customer }) => {
  const { delivery } = (await customer.client.get('/api/webhooks')).json.data;
  expect(delivery).toEqual({
    timeoutSeconds: 10,
    retryDelaysSeconds: [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000],
    keptDays: 30,
  });
});

describe('a test delivery', () => {
  test('arrives signed, and is logged with its attempt', async ({ souk, customer, receiver }) => {
    const { client, secret } = customer;
    const reply = await client.post('/api/webhooks/test', { url: `${receiver.url}/hook` });
    const { deliveryId } = reply.json.data;
    expect(reply.status).toBe(202);
    expect(reply.json.data).toEqual({
      deliveryId,
      type: 'webhook.test',
      url: `${receiver.url}/hook`,
      state: 'pending',
      attempts: 0,
      nextAttemptAt: now(souk),
      lastStatus: null,
      lastError: null,
      createdAt: now(souk),
      finishedAt: null,
      links: { self: `${DELIVERIES}/${deliveryId}`, replay: `${DELIVERIES}/${deliveryId}/replay` },
    });
    receiver.react((_message, response) => {
      response.end('got it');
      return 'handled';
    });
    await sendDue(souk);
    const [message] = receiver.received;
    if (!message) throw new Error('A message was expected.');
    expect(message.headers['webhook-id']).toBe(deliveryId);
    expect(verified(message, secret, souk.clock.now())).toMatchObject({
      type: 'webhook.test',
      timestamp: now(souk),
    });
    const { json } = await client.get(reply.json.data.links.self);
    expect(json.data).toMatchObject({
      state: 'delivered',
      attempts: 1,
      nextAttemptAt: null,
      lastStatus: 200,
      finishedAt: now(souk),
      payload: message.body,
      log: [{ attempt: 1, at: now(souk), status: 200, error: null, durationMs: 0, response: 'got it' }],
    });
    expect(await unitsUsed(client)).toBe(0);
  });

  test('requires a signing secret', async ({ souk, receiver }) => {
    const client = await souk.client();
    const reply = await client.post('/api/webhooks/test', { url: receiver.url });
    expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(reply.json.msg).toMatch(/^url: .*POST \/api\/webhooks\/secret/);
  });

  test.for<[string, unknown, string]>([
    ['no body', undefined, 'must be a JSON object'],
    ['a list', [], 'must be a JSON object'],
    ['no address', {}, 'url: is required'],
    ['a number', { url: 5 }, 'url: must be a text'],
    ['another protocol', { url: 'ftp://example.com/' }, 'url: must start with https:// or http://'],
    ['a password', { url: 'https://a:b@example.com/' }, 'url: must not contain a user name'],
    ['metadata', { url: 'http://169.254.169.254/' }, 'url: must not resolve to a private'],
  ])('with %s is refused, with the name of the parameter', async ([_what, body, problem], { customer }) => {
    const reply = await customer.client.post('/api/webhooks/test', body);
    expect(reply.status).toBe(400);
    expect(reply.json.msg).toContain(problem);
  });

  test('is refused while twenty others are pending', async ({ souk, customer, receiver }) => {
    const { client } = customer;
    const statuses: number[] = [];
    for (let i = 0; i < 21; i += 1) {
      statuses.push((await client.post('/api/webhooks/test', { url: receiver.url })).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 202), 400]);
    await sendDue(souk, { limits: { atOnce: 20, perHost: 20, perAccount: 20, hostsPerAccount: 9 } });
    expect((await client.post('/api/webhooks/test', { url: receiver.url })).status).toBe(202);
  });

  test('deletes the oldest ended tests beyond the number that is kept, and no other deliveries', async ({
    souk,
    customer,
    receiver,
  }) => {
    const { accountId, client } = customer;
    const other = await enqueueEvent(souk, accountId, receiver.url);
    await souk.database.query(
      `insert into outbox (id, channel, account_id, recipient, host, kind, payload, state, finished_at, created_at, expires_at)
       select lpad(i::text, 32, '0')::uuid, 'webhook', $1, 'https://a.example/', 'a.example', 'webhook.test', '{}', 'delivered', $2, $2,
         $2
       from generate_series(1, $3) as i`,
      [accountId, new Date(souk.clock.now()), TESTS_KEPT + 20],
    );
    expect((await client.post('/api/webhooks/test', { url: receiver.url })).status).toBe(202);
    const { rows } = await souk.database.query<{ type: string; count: number }>(
      'select kind as type, count(*) from outbox where account_id = $1 group by kind order by kind',
      [accountId],
    );
    expect(rows).toEqual([
      { type: 'thing.happened', count: 1 },
      { type: 'webhook.test', count: TESTS_KEPT },
    ]);
    expect((await client.get(`/api/webhooks/deliveries/${other}`)).status).toBe(200);
  });
});

test('to a private address is refused where they are not allowed', async ({ receiver, openAnother }) => {
  const strict = await openAnother({ workers: 0, allowPrivateWebhooks: false });
  const { client } = await webhookCustomer(strict);
  for (const url of [receiver.url, 'http://localhost:8080/', 'http://0x7f000001/', 'https://[::1]/']) {
    const reply = await client.post('/api/webhooks/test', { url });
    expect([reply.status, reply.json.msg]).toEqual([
      400,
      expect.stringMatching(/^url: must not resolve to a private/),
    ]);
  }
  const fine = await client.post('/api/webhooks/test', { url: 'https://hooks.example.com/' });
  expect(fine.status).toBe(202);
});

describe('the log', () => {
  const idsOf = (json: { data: { deliveries: { deliveryId: string }[] } }) =>
    json.data.deliveries.map(({ deliveryId }) => deliveryId);

  test('filters by state', async ({ souk, customer, receiver }) => {
    const { client, accountId } = customer;
    receiver.react(({ path }) => (path === '/gone' ? 410 : 200));
    const gone = await enqueueEvent(souk, accountId, `${receiver.url}/gone`);
    const fine = await enqueueEvent(souk, accountId, `${receiver.url}/fine`);
    await sendDue(souk);
    const waiting = await enqueueEvent(souk, accountId, receiver.url);
    const ofState = async (state: string) => idsOf((await client.get(`${DELIVERIES}?state=${state}`)).json);
    expect(await ofState('failed')).toEqual([gone]);
    expect(await ofState('delivered')).toEqual([fine]);
    expect(await ofState('pending')).toEqual([waiting]);
    const { json } = await client.get(`${DELIVERIES}?state=failed&limit=1`);
    expect(json.data.nextCursor).toBeNull();
    expect((await client.get(`${DELIVERIES}?state=pending&cursor=${waiting}`)).json.data.deliveries).toEqual(
      [],
    );
  });

  test.for([
    ['state=lost', 'state: must be one of pending, delivered, failed'],
    ['state=failed&state=pending', 'state: was given more than once'],
  ] as const)('refuses ?%s', async ([query, problem], { customer }) => {
    const reply = await customer.client.get(`${DELIVERIES}?${query}`);
    expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(reply.json.msg).toContain(problem);
  });
});

describe('a replay', () => {
  test('sends a delivered message again with a new signature', async ({ souk, customer, receiver }) => {
    const { client, accountId, secret } = customer;
    const id = await enqueueEvent(souk, accountId, receiver.url, { n: 1 });
    await sendDue(souk);
    souk.clock.advance(3 * 86_400_000);
    const reply = await souk.clientOf(client.key, 1).post(`${DELIVERIES}/${id}/replay`, {});
    expect(reply.status).toBe(202);
    expect(reply.json.data).toMatchObject({
      deliveryId: id,
      state: 'pending',
      nextAttemptAt: now(souk),
      finishedAt: null,
    });
    await sendDue(souk);
    expect(receiver.ids()).toEqual([id, id]);
    const [first, second] = receiver.received;
    if (!first || !second) throw new Error('Two messages were expected.');
    expect(second.body).toBe(first.body);
    expect(verified(second, secret, souk.clock.now())).toMatchObject({ data: { n: 1 } });
    const { data } = (await client.get(`${DELIVERIES}/${id}`)).json;
    expect([data.state, data.attempts, data.log.length]).toEqual(['delivered', 2, 2]);
  });

  test('of a failed delivery restarts its retries', async ({ souk, customer, receiver }) => {
    const { client, accountId } = customer;
    receiver.react(() => 410);
    const id = await enqueueEvent(souk, accountId, receiver.url);
    await sendDue(souk);
    expect((await client.get(`${DELIVERIES}/${id}`)).json.data.state).toBe('failed');
    receiver.react(() => 500);
    await client.post(`${DELIVERIES}/${id}/replay`, {});
    await sendDue(souk);
    const { data } = (await client.get(`${DELIVERIES}/${id}`)).json;
    expect(data).toMatchObject({ state: 'pending', attempts: 2, lastStatus: 500 });
    expect(Date.parse(data.nextAttemptAt) - souk.clock.now()).toBe(5_000);
  });

  test('of a delivery that waits for a retry sends it now', async ({ souk, customer, receiver }) => {
    const { client, accountId } = customer;
    receiver.react(() => 500);
    const id = await enqueueEvent(souk, accountId, receiver.url);
    await sendDue(souk);
    receiver.react(() => 200);
    await client.post(`${DELIVERIES}/${id}/replay`, {});
    await sendDue(souk);
    expect((await client.get(`${DELIVERIES}/${id}`)).json.data.state).toBe('delivered');
  });
});

test('contains no secret', ({ souk }) => {
  const log = souk.logLines.join('');
  expect(log).toContain('/api/webhooks/secret');
  expect(log).not.toContain('whsec_');
});
