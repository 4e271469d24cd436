import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newKey } from '../../../src/accounts/keys.ts';
import { openReceiver, type Receiver, verified } from '../../support/receiver.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { unitsUsed } from '../../support/units.ts';
import { enqueueEvent, sendDue, type WebhookCustomer, webhookCustomer } from '../../support/webhooks.ts';

let souk: Souk;
let customer: WebhookCustomer;
let receiver: Receiver;
beforeAll(async () => {
  souk = await openSouk({ gateways: 2, workers: 0 });
});
afterAll(() => souk.close());
beforeEach(async () => {
  customer = await webhookCustomer(souk);
  receiver = await openReceiver();
});
afterEach(async () => {
  await souk.database.query('delete from webhook_deliveries');
  await receiver.close();
});

const now = () => new Date(souk.clock.now()).toISOString();
const inHours = (hours: number) => new Date(souk.clock.now() + hours * 3_600_000).toISOString();
const DELIVERIES = '/api/webhooks/deliveries';
const NOBODYS = '01890000-0000-7000-8000-000000000000';

describe('the secret', () => {
  test('is none at first; then it is shown once, and afterwards only when it was made', async () => {
    const client = await souk.client();
    expect((await client.get('/api/webhooks')).json.data.secret).toBeNull();
    const created = await client.post('/api/webhooks/secret', {});
    expect(created.status).toBe(201);
    expect(created.headers['cache-control']).toBe('private, no-store');
    const { secret, ...state } = created.json.data;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(state).toEqual({ createdAt: now(), previousSignsUntil: null });
    const later = await client.get('/api/webhooks');
    expect(later.json.data.secret).toEqual(state);
    expect(later.body.toString()).not.toContain(secret);
  });

  test('is replaced by another; the one before signs for 24 hours more', async () => {
    const { client, secret } = customer;
    const rotated = (await client.post('/api/webhooks/secret', {})).json.data;
    expect(rotated.secret).not.toBe(secret);
    expect(rotated.previousSignsUntil).toBe(inHours(24));
    expect((await client.get('/api/webhooks')).json.data.secret.previousSignsUntil).toBe(inHours(24));
    souk.clock.advance(24 * 3_600_000);
    expect((await client.get('/api/webhooks')).json.data.secret.previousSignsUntil).toBeNull();
  });

  test('comes without a body too', async () => {
    const reply = await customer.client.get('/api/webhooks/secret', { method: 'POST' });
    expect(reply.status).toBe(201);
  });
});

test('the rules of delivery are told: timeout, retries over more than a day, and how long the log is kept', async () => {
  const { delivery } = (await customer.client.get('/api/webhooks')).json.data;
  expect(delivery).toEqual({
    timeoutSeconds: 10,
    retryDelaysSeconds: [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000],
    keptDays: 30,
  });
});

describe('a test', () => {
  test('arrives, signed, and is in the log with its attempt', async () => {
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
      nextAttemptAt: now(),
      lastStatus: null,
      lastError: null,
      createdAt: now(),
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
      timestamp: now(),
    });
    const { json } = await client.get(reply.json.data.links.self);
    expect(json.data).toMatchObject({
      state: 'delivered',
      attempts: 1,
      nextAttemptAt: null,
      lastStatus: 200,
      finishedAt: now(),
      payload: message.body,
      log: [{ attempt: 1, at: now(), status: 200, error: null, durationMs: 0, response: 'got it' }],
    });
    expect(await unitsUsed(client)).toBe(0);
  });

  test('needs a secret first', async () => {
    const client = await souk.client();
    const reply = await client.post('/api/webhooks/test', { url: receiver.url });
    expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(reply.json.msg).toMatch(/^url: .*POST \/api\/webhooks\/secret/);
  });

  test.each<[string, unknown, string]>([
    ['no body', undefined, 'must be a JSON object'],
    ['a list', [], 'must be a JSON object'],
    ['no address', {}, 'url: is required'],
    ['a number', { url: 5 }, 'url: must be a text'],
    ['another protocol', { url: 'ftp://example.com/' }, 'url: must start with https:// or http://'],
    ['a password', { url: 'https://a:b@example.com/' }, 'url: must not contain a user name'],
    ['metadata', { url: 'http://169.254.169.254/' }, 'url: must not resolve to a private'],
  ])('with %s is refused by name', async (_what, body, problem) => {
    const reply = await customer.client.post('/api/webhooks/test', body);
    expect(reply.status).toBe(400);
    expect(reply.json.msg).toContain(problem);
  });

  test('is refused while twenty others are not delivered, until they are', async () => {
    const { client } = customer;
    const statuses: number[] = [];
    for (let i = 0; i < 21; i += 1) {
      statuses.push((await client.post('/api/webhooks/test', { url: receiver.url })).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 202), 400]);
    await sendDue(souk, { limits: { atOnce: 20, perHost: 20, perAccount: 20 } });
    expect((await client.post('/api/webhooks/test', { url: receiver.url })).status).toBe(202);
  });
});

test('where private addresses are not allowed, none is taken', async () => {
  const strict = await openSouk({ workers: 0, allowPrivateWebhooks: false });
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
  await strict.close();
});

describe('the log', () => {
  const idsOf = (json: { data: { deliveries: { deliveryId: string }[] } }) =>
    json.data.deliveries.map(({ deliveryId }) => deliveryId);

  test('has the newest first, in pages that miss and repeat nothing while more is added', async () => {
    const { client, accountId } = customer;
    const ids: string[] = [];
    for (let i = 0; i < 7; i += 1) ids.unshift(await enqueueEvent(souk, accountId, receiver.url));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const { json } = await client.get(`${DELIVERIES}?limit=3${cursor ? `&cursor=${cursor}` : ''}`);
      seen.push(...idsOf(json));
      cursor = json.data.nextCursor;
      await enqueueEvent(souk, accountId, receiver.url);
    } while (cursor);
    expect(seen).toEqual(ids);
  });

  test('can be asked for one state', async () => {
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

  test.each([
    ['state=lost', 'state: must be one of pending, delivered, failed'],
    ['limit=0', 'limit: must be an integer from 1 to 100'],
    ['limit=101', 'limit: must be an integer from 1 to 100'],
    ['limit=many', 'limit: must be an integer from 1 to 100'],
    ['cursor=7', 'cursor: must be the id of the last delivery of the page before'],
    ["cursor=' or 1=1", 'cursor: must be the id of the last delivery of the page before'],
    ['state=failed&state=pending', 'state: was given more than once'],
  ])('?%s is refused', async (query, problem) => {
    const reply = await customer.client.get(`${DELIVERIES}?${query}`);
    expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(reply.json.msg).toContain(problem);
  });
});

describe('a replay', () => {
  test('sends what was delivered once more: the same body under the same id, signed for now', async () => {
    const { client, accountId, secret } = customer;
    const id = await enqueueEvent(souk, accountId, receiver.url, { n: 1 });
    await sendDue(souk);
    souk.clock.advance(3 * 86_400_000);
    const reply = await souk.clientOf(client.key, 1).post(`${DELIVERIES}/${id}/replay`, {});
    expect(reply.status).toBe(202);
    expect(reply.json.data).toMatchObject({
      deliveryId: id,
      state: 'pending',
      nextAttemptAt: now(),
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

  test('of what has failed begins the schedule anew', async () => {
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

  test('of what waits for its next attempt makes that one now', async () => {
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

test('what another account has does not exist, and neither does what never was', async () => {
  const id = await enqueueEvent(souk, customer.accountId, receiver.url);
  const stranger = await souk.client();
  for (const place of [id, NOBODYS, 'none', '%00', "' or 1=1"].map((name) => `${DELIVERIES}/${name}`)) {
    for (const reply of [await stranger.get(place), await stranger.post(`${place}/replay`, {})]) {
      expect([place, reply.status, reply.json.code]).toEqual([place, 404, 'DELIVERY_NOT_FOUND']);
    }
  }
  expect((await stranger.get(DELIVERIES)).json.data).toEqual({ deliveries: [], nextCursor: null });
  // Nor can a cursor lead there.
  expect((await stranger.get(`${DELIVERIES}?cursor=${id}`)).json.data.deliveries).toEqual([]);
  expect((await customer.client.get(`${DELIVERIES}/${id}`)).json.data).toMatchObject({ state: 'pending' });
});

test.each([
  ['GET', '/api/webhooks'],
  ['POST', '/api/webhooks/secret'],
  ['POST', '/api/webhooks/test'],
  ['GET', DELIVERIES],
  ['GET', `${DELIVERIES}/${NOBODYS}`],
  ['POST', `${DELIVERIES}/${NOBODYS}/replay`],
])('%s %s needs a key, and takes no other method', async (method, path) => {
  const { raw, get } = customer.client;
  const body = method === 'POST' ? { body: {} } : {};
  for (const headers of [{}, { 'x-api-key': newKey() }]) {
    expect((await raw(path, { method, headers, ...body })).status).toBe(401);
  }
  const refused = await get(path, { method: 'DELETE' });
  expect([refused.status, refused.headers.allow]).toEqual([405, method]);
});

test('none of it costs anything', async () => {
  const { client } = customer;
  const replies = [await client.get('/api/webhooks'), await client.get(DELIVERIES)];
  for (const { headers } of replies) expect(headers['x-units-consumed']).toBe('0');
  expect(await unitsUsed(client)).toBe(0);
});

test('no secret is in a log', () => {
  const log = souk.logLines.join('');
  expect(log).toContain('/api/webhooks/secret');
  expect(log).not.toContain('whsec_');
});
