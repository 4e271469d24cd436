import { describe, expect } from 'vitest';
import { addKey } from '../../../src/accounts/account-keys.ts';
import { changedSettings, WITHOUT_LIMITS } from '../../../src/accounts/key-settings.ts';
import { newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { connectAgent } from '../../support/mcp-client.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';

test.override('soukOptions', { gateways: 2 });

type Sent = Parameters<typeof changedSettings>[1];

/** A client with a new key of the account. */
async function clientWith(souk: Souk, { accountId }: { accountId: number }, sent: Sent): Promise<Client> {
  const now = souk.clock.now();
  const settings = changedSettings(WITHOUT_LIMITS, sent, now);
  const { key } = await addKey(souk.database, accountId, { settings, createdBy: null, now });
  return souk.clientOf(key);
}

const product = (asin = newAsin()) => `/api/market/product?domain=1&asins=${asin}`;
const codeOf = async (client: Client, path: string, method = 'GET', body?: unknown) => {
  const { status, json } = await client.get(path, { method, ...(body === undefined ? {} : { body }) });
  return [status, json.code];
};
const OK = [200, '0000'];
const OUT_OF_SCOPE = [403, 'KEY_SCOPE_MISSING'];
const NO_ID = '00000000-0000-7000-8000-000000000000';

describe('scopes', () => {
  test('a key of some operations makes their calls, reads their jobs and its quota, and nothing else', async ({
    souk,
    account,
    upstream,
  }) => {
    const client = await clientWith(souk, account, { name: 'Prices', scopes: ['products'], capDay: 5 });
    expect(await codeOf(client, product())).toEqual(OK);
    const call = { operation: 'market.product', params: { domain: 1, asins: [newAsin()] } };
    const { status, json } = await client.post('/api/jobs', call);
    expect(status).toBe(202);
    expect((await client.get(`/api/jobs/${json.data.jobId}?wait=30`)).json.data.state).toBe('done');
    const asked = upstream.calls.length;
    for (const [path, method, body] of [
      ['/api/market/seller?domain=1&seller=A1B2C3D4E5F6G7'],
      ['/api/market/categorysearch?domain=1&type=category&term=x'],
      ['/api/market/charturl?domain=1&asin=B000000001'],
      ['/api/jobs', 'POST', { ...call, operation: 'market.seller' }],
      ['/api/jobs'],
      ['/api/usage'],
      ['/api/batches', 'POST', call],
      [`/api/batches/${NO_ID}`],
      ['/api/keys'],
      ['/api/webhooks'],
    ] as [string, string?, unknown?][]) {
      const params = path === '/api/jobs' && body ? { domain: 1, seller: ['A1B2C3D4E5F6G7'] } : undefined;
      const sent = params ? { operation: 'market.seller', params } : body;
      expect([path, ...(await codeOf(client, path, method, sent))]).toEqual([path, ...OUT_OF_SCOPE]);
    }
    expect(upstream.calls).toHaveLength(asked);
    const { key } = (await client.get('/api/quota')).json.data;
    expect(key).toEqual({
      id: expect.any(Number),
      prefix: client.key.slice(0, 7),
      name: 'Prices',
      scopes: ['products'],
      capDay: 5,
      capMonth: null,
      used: { day: 2, month: 2 },
      expiresAt: null,
    });
  });

  test('a key with the scope read changes and charges nothing', async ({ souk, account }) => {
    const client = await clientWith(souk, account, { scopes: ['read'] });
    for (const path of '/api/jobs /api/usage /api/ledger /api/batches /api/schedules /api/trackers'.split(
      ' ',
    ))
      expect([path, ...(await codeOf(client, path))]).toEqual([path, ...OK]);
    for (const [method, path] of [
      ['GET', product()],
      ['POST', '/api/batches'],
      ['POST', '/api/webhooks/secret'],
      ['DELETE', `/api/schedules/${NO_ID}`],
      ['DELETE', `/api/jobs/${NO_ID}`],
    ] as const)
      expect([path, ...(await codeOf(client, path, method))]).toEqual([path, ...OUT_OF_SCOPE]);
  });

  test('an agent sees the tools of its scopes only, and others are refused', async ({ souk, account }) => {
    const client = await clientWith(souk, account, { scopes: ['sellers'] });
    const agent = await connectAgent(client, { toolsets: 'all' });
    const { tools } = await agent.client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toContain('market_get_quota');
    expect(names).toContain('market_get_seller');
    expect(names).not.toContain('market_get_product');
    expect(names).not.toContain('batches_create');
    const refused = await agent.call('market_get_product', { domain: 1, asins: [newAsin()] });
    expect(refused.isError).toBe(true);
    expect(JSON.stringify(refused.content)).toContain('KEY_SCOPE_MISSING');
  });

  test('a batch is refused if the key must not make its calls', async ({ souk, account }) => {
    const client = await clientWith(souk, account, { scopes: ['batches', 'deals'] });
    const batch = { operation: 'market.product', params: { domain: 1 }, split: { asins: [newAsin()] } };
    expect(await codeOf(client, '/api/batches', 'POST', batch)).toEqual(OUT_OF_SCOPE);
    const wider = await clientWith(souk, account, { scopes: ['batches', 'products'] });
    expect((await wider.post('/api/batches', batch)).status).toBe(202);
  });
});

describe('a job, batch, schedule or tracker of an operation', () => {
  const missing = (...scopes: string[]) => [403, 'KEY_SCOPE_MISSING', scopes];
  const refusalOf = async (client: Client, path: string, method = 'GET') => {
    const { status, json } = await client.get(path, { method });
    return [status, json.code, json.metadata?.requiredScopes];
  };

  test('a job is read with the scope of its operation or read, and cancelled with that of its operation', async ({
    souk,
    account,
    client,
  }) => {
    const call = { operation: 'market.product', params: { domain: 1, asins: [newAsin()] } };
    const { self } = (await client.post('/api/jobs', call)).json.data.links;
    expect((await client.get(`${self}?wait=30`)).json.data.state).toBe('done');
    const sellers = await clientWith(souk, account, { scopes: ['sellers'] });
    for (const path of [self, `${self}?wait=1`, `${self}/result`, `${self}/events`])
      expect([path, ...(await refusalOf(sellers, path))]).toEqual([path, ...missing('read', 'products')]);
    expect(await refusalOf(sellers, self, 'DELETE')).toEqual(missing('products'));
    const agent = await connectAgent(sellers, { toolsets: 'all' });
    for (const tool of ['jobs_get', 'jobs_get_result', 'jobs_cancel'])
      expect((await agent.call(tool, { id: self.split('/').at(-1) })).data.error.code).toBe(
        'KEY_SCOPE_MISSING',
      );
    const uri = `souk://jobs/${self.split('/').at(-1)}/result`;
    await expect(agent.client.readResource({ uri })).rejects.toThrow('lacks one of the scopes');

    const reader = await clientWith(souk, account, { scopes: ['read', 'sellers'] });
    const products = await clientWith(souk, account, { scopes: ['products'] });
    for (const one of [reader, products]) {
      expect(await codeOf(one, self)).toEqual(OK);
      expect(await codeOf(one, `${self}/result`)).toEqual(OK);
      expect((await one.get(`${self}/events`)).text).toContain('event: end');
    }
    expect(await refusalOf(reader, self, 'DELETE')).toEqual(missing('products'));
    expect(await codeOf(products, self, 'DELETE')).toEqual(OK);
  });

  test('batches, schedules and trackers are read and listed with the scope of their operation or read', async ({
    souk,
    account,
    client,
  }) => {
    const batch = { operation: 'market.product', items: [{ domain: 1, asins: [newAsin()] }] };
    const at = { name: 'Yearly', cron: '0 0 1 1 *' };
    const conditions = [{ type: 'price_below', value: 2000 }];
    const links = await Promise.all(
      (
        [
          ['/api/batches', batch],
          ['/api/schedules', { ...at, batch }],
          ['/api/trackers', { ...at, domain: 1, asins: [newAsin()], conditions }],
        ] as const
      ).map(async ([path, body]) => (await client.post(path, body)).json.data.links),
    );
    const paths = links.flatMap(({ self, results, runs, alerts }) =>
      [self, results, runs, alerts].filter((path) => path !== undefined),
    );
    expect(paths).toHaveLength(6);
    const groups = ['batches', 'schedules', 'trackers'] as const;
    const listedBy = (one: Client) =>
      Promise.all(groups.map(async (group) => (await one.get(`/api/${group}`)).json.data[group].length));
    const sellers = await clientWith(souk, account, { scopes: [...groups, 'sellers'] });
    for (const path of paths)
      expect([path, ...(await refusalOf(sellers, path))]).toEqual([path, ...missing('read', 'products')]);
    expect(await listedBy(sellers)).toEqual([0, 0, 0]);
    for (const scopes of [[...groups, 'products'], ['read']] as const) {
      const reader = await clientWith(souk, account, { scopes: [...scopes] });
      for (const path of paths) expect([path, (await reader.get(path)).status]).toEqual([path, 200]);
      expect(await listedBy(reader)).toEqual([1, 1, 1]);
    }
  });
});

describe('addresses and expiry', () => {
  test('a key is refused from an address outside its networks', async ({ souk, account }) => {
    const inside = await clientWith(souk, account, { networks: ['127.0.0.0/8', '::1'] });
    const outside = await clientWith(souk, account, { networks: ['203.0.113.0/24'] });
    for (const path of [product(), '/api/quota', product()]) {
      expect(await codeOf(inside, path)).toEqual(OK);
      expect(await codeOf(outside, path)).toEqual([403, 'KEY_ADDRESS_REFUSED']);
    }
  });

  test('a key works until it expires, and warns a week before', async ({ souk, account }) => {
    const expiresAt = new Date(souk.clock.now() + 60_000).toISOString();
    const client = await clientWith(souk, account, { expiresAt });
    const { keyWarning } = (await client.get('/api/quota')).json.data;
    expect(keyWarning).toBe(`This key expires at ${expiresAt}.`);
    souk.clock.advance(59_999);
    expect(await codeOf(client, product())).toEqual(OK);
    souk.clock.advance(1);
    expect(await codeOf(client, product())).toEqual([403, '4003']);
  });
});

test('a cap refuses calls with the end of its day, and a batch waits for it', async ({ souk, account }) => {
  const client = await clientWith(souk, account, { capDay: 2 });
  const asins = [newAsin(), newAsin(), newAsin()];
  const { json } = await client.post('/api/batches', {
    operation: 'market.product',
    params: { domain: 1 },
    split: { asins },
  });
  await expect
    .poll(async () => {
      souk.clock.advance(1_000);
      const { waiting, counts } = (await client.get(json.data.links.self)).json.data;
      return [waiting?.reason, counts.done, counts.pending];
    })
    .toEqual(['KEY_CAP_REACHED', 2, 1]);
  const refused = await client.get(product());
  expect([refused.status, refused.json.code, refused.headers['x-units-consumed']]).toEqual([
    429,
    'KEY_CAP_REACHED',
    '0',
  ]);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect(await codeOf(souk.clientOf(account.key), product())).toEqual(OK);
});

describe('/api/keys', () => {
  test('a key without the scope keys is refused', async ({ client }) => {
    expect(await codeOf(client, '/api/keys')).toEqual(OUT_OF_SCOPE);
    expect(await codeOf(client, '/api/keys', 'POST', {})).toEqual(OUT_OF_SCOPE);
  });

  test('creates a key that works immediately and is shown once, lists, changes and revokes it on all gateways', async ({
    souk,
    account,
  }) => {
    const manager = await clientWith(souk, account, { scopes: ['keys', 'products', 'sellers', 'read'] });
    const { status, headers, json } = await manager.post('/api/keys', {
      name: 'Child',
      scopes: ['products'],
    });
    expect([status, headers.location]).toEqual([201, `/api/keys/${json.data.id}`]);
    const { key, ...view } = json.data;
    const listed = (await manager.get('/api/keys')).json.data.keys;
    expect(listed[0]).toEqual(view);
    expect(view.createdBy).toBe(listed[1].id);
    expect(JSON.stringify(listed)).not.toContain(key.slice(0, 9));
    const gateways = [souk.clientOf(key, 0), souk.clientOf(key, 1)];
    for (const client of gateways) expect(await codeOf(client, product())).toEqual(OK);

    const self = `/api/keys/${view.id}`;
    const seller = '/api/market/seller?domain=1&seller=A1B2C3D4E5F6G7';
    await manager.get(self, { method: 'PATCH', body: { scopes: ['sellers'] } });
    // Both gateways know the key with its earlier scopes.
    for (const client of gateways) {
      expect(await codeOf(client, product())).toEqual(OUT_OF_SCOPE);
      expect((await codeOf(client, seller))[1]).not.toBe('KEY_SCOPE_MISSING');
    }
    await manager.get(self, {
      method: 'PATCH',
      body: { scopes: ['sellers', 'products'], networks: ['10.0.0.0/8'] },
    });
    for (const client of gateways)
      expect(await codeOf(client, product())).toEqual([403, 'KEY_ADDRESS_REFUSED']);

    expect((await manager.get(self, { method: 'DELETE' })).json.data.state).toBe('revoked');
    for (const client of gateways) expect((await client.get(product())).status).toBe(403);
    expect((await manager.get(self)).json.data.state).toBe('revoked');
    expect(await codeOf(manager, self, 'PATCH', { name: 'x' })).toEqual([404, 'KEY_NOT_FOUND']);
  });

  test('a key cannot give rights that it does not have, to itself or to another key', async ({
    souk,
    account,
  }) => {
    const manager = await clientWith(souk, account, { scopes: ['keys', 'deals'] });
    const [own] = (await manager.get('/api/keys')).json.data.keys;
    const exceeded = [403, 'KEY_RIGHTS_EXCEEDED'];
    expect(await codeOf(manager, '/api/keys', 'POST', {})).toEqual(exceeded);
    expect(await codeOf(manager, '/api/keys', 'POST', { scopes: ['products'] })).toEqual(exceeded);
    expect(await codeOf(manager, `/api/keys/${own.id}`, 'PATCH', { scopes: null })).toEqual(exceeded);
    expect(await codeOf(manager, `/api/keys/${own.id}`, 'PATCH', { capDay: 5 })).toEqual([
      400,
      'VALIDATION_FAILED',
    ]);
    const { status } = await manager.post('/api/keys', { scopes: ['deals', 'keys'], name: null });
    expect(status).toBe(201);
  });
});
