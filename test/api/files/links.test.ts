import { expect } from 'vitest';
import { addKey, revokeKeys } from '../../../src/accounts/account-keys.ts';
import { WITHOUT_LIMITS } from '../../../src/accounts/key-settings.ts';
import { eraseDueAccounts } from '../../../src/operator/personal-data/erasure.ts';
import { MOST_LINKS } from '../../../src/results/result-links.ts';
import { newAsin } from '../../support/answers.ts';
import { asinsFrom, finished, startBatch } from '../../support/batches.ts';
import type { Client } from '../../support/client.ts';
import { signedIn } from '../../support/customer.ts';
import type { Souk, TestAccount } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

test.override('soukOptions', { limits: { freePerSecond: 20 } });

const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const HOUR_MS = 3_600_000;

const jobOf = async (client: Client, more = '') =>
  (await client.get(`/api/market/product?domain=1&asins=${newAsin()}${more}`)).headers['x-job-id'] ?? '';

async function linkTo(client: Client, id: string, more: object = {}) {
  const { status, json } = await client.post('/api/links', { target: 'job', id, ...more });
  expect(status).toBe(201);
  const { pathname } = new URL(json.data.url);
  return { ...json.data, path: pathname as string };
}

const isOpen = async (client: Client, path: string) => (await client.raw(path)).status === 200;

test('a link opens the result of a job without a key, and nothing else of the account', async ({
  client,
}) => {
  const id = await jobOf(client);
  const units = await unitsUsed(client);
  const { path, linkId, expiresAt, createdAt } = await linkTo(client, id);
  expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBeLessThanOrEqual(24 * HOUR_MS);
  const opened = await client.raw(path);
  expect([opened.status, opened.text]).toEqual([200, (await client.get(`/api/jobs/${id}/result`)).text]);
  expect(opened.headers).toMatchObject({
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex, nofollow',
    'content-disposition': expect.stringMatching(/^attachment; filename="souk-market.product-\w+\.json"$/),
    'content-security-policy': expect.stringContaining('sandbox'),
    'access-control-allow-origin': '*',
    'cache-control': 'private, no-cache',
    'x-units-consumed': '0',
  });
  const part = await client.raw(path, { headers: { range: 'bytes=0-3' } });
  expect([part.status, part.text]).toEqual([206, opened.text.slice(0, 4)]);
  expect((await client.raw(path, { method: 'HEAD' })).headers['content-length']).toBeDefined();
  const { links } = (await client.get(`/api/links?id=${id}`)).json.data;
  expect(links).toMatchObject([{ linkId, targetId: id, opens: 2, operation: 'market.product' }]);
  expect(JSON.stringify(links)).not.toContain(path.split('/')[2]);
  expect(await unitsUsed(client)).toBe(units);
  const token = path.split('/')[2];
  expect(
    (await client.raw(`/api/jobs/${id}/result`, { headers: { authorization: `Bearer ${token}` } })).status,
  ).toBe(401);
});

test('a link opens the results of a batch in its format', async ({ client }) => {
  const batch = { operation: 'market.product', params: { domain: 1, history: 0 } };
  const made = await startBatch(client, { ...batch, split: { asins: asinsFrom('B0LINKS', 3) } });
  const early = await client.post('/api/links', { target: 'batch', id: made.batchId });
  if (early.status !== 201) expect(early.json.code).toBe('RESULT_NOT_READY');
  await finished(client, made);
  for (const format of ['csv', 'ndjson']) {
    const { path, name } = await linkTo(client, made.batchId, { target: 'batch', format });
    expect(name).toBe(`souk-batch-${made.batchId.slice(-12)}.${format}`);
    const { text } = await client.raw(path);
    expect(text).toBe((await client.get(`/api/batches/${made.batchId}/results?format=${format}`)).text);
  }
});

test('a link opens a table of the result of a job, whole and in parts', async ({ client }) => {
  const id = await jobOf(client, '&detailLevel=full');
  for (const form of [{ format: 'csv' }, { format: 'csv', table: 'history' }, { table: 'products' }]) {
    const { path, name } = await linkTo(client, id, form);
    const { table = 'products', format = 'ndjson' } = form as Record<string, string>;
    expect(name).toMatch(new RegExp(`^souk-${table}-us-\\w+-[\\d-]+\\.${format}$`));
    const opened = await client.raw(path);
    expect(opened.headers['content-disposition']).toBe(`attachment; filename="${name}"`);
    const asked = await client.get(`/api/jobs/${id}/result?format=${format}&table=${table}`);
    expect([opened.status, opened.text]).toEqual([200, asked.text]);
    const part = await client.raw(path, { headers: { range: 'bytes=5-' } });
    expect([part.status, part.text]).toEqual([206, opened.text.slice(5)]);
  }
});

test.for([
  [{ target: 'job', format: 'csv', table: 'offers' }, 'table', 'offers needs offers'],
  [{ target: 'job', table: 'prices' }, 'table', 'must be products, history, daily or offers'],
  [
    { target: 'job', format: 'csv' },
    'format',
    'must be left out, without table, because of fields',
    '&fields=title',
  ],
  [{ target: 'file', format: 'csv' }, 'format', 'must be left out for a file'],
  [{ target: 'file', table: 'terms' }, 'table', 'must be left out for a file'],
] as const)(
  'a link to a form that its result lacks (%j) is refused',
  async ([form, parameter, problem, query], { client }) => {
    const { status, json } = await client.post('/api/links', { id: await jobOf(client, query), ...form });
    expect([status, json.metadata?.errors]).toEqual([
      400,
      [{ parameter, problem: expect.stringContaining(problem) }],
    ]);
  },
);

test('the header Accept chooses the form of the result of a job', async ({ client }) => {
  const path = `/api/jobs/${await jobOf(client)}/result`;
  const { text, headers } = await client.get(path, { headers: { accept: 'text/csv' } });
  expect([headers['content-type'], text]).toEqual([
    'text/csv; charset=utf-8',
    (await client.get(`${path}?format=csv`)).text,
  ]);
});

test('a link ends with its time', async ({ souk, client }) => {
  const { path } = await linkTo(client, await jobOf(client), { hours: 1 });
  expect(await isOpen(client, path)).toBe(true);
  souk.clock.advance(HOUR_MS + 1);
  const { status, json } = await client.raw(path);
  expect([status, json.code]).toEqual([404, 'LINK_NOT_FOUND']);
});

interface Ending {
  what: string;
  end(own: {
    souk: Souk;
    account: TestAccount;
    client: Client;
    linkId: string;
    keyId: number;
  }): Promise<unknown>;
}

const ENDINGS: Ending[] = [
  {
    what: 'it is revoked',
    end: ({ client, linkId }) => client.get(`/api/links/${linkId}`, { method: 'DELETE' }),
  },
  {
    what: 'its key is revoked',
    end: ({ souk, account, keyId }) =>
      revokeKeys(souk.database, account.accountId, String(keyId), souk.clock.now()),
  },
  {
    what: 'the account is disabled',
    end: ({ souk, account }) =>
      souk.database.query("update accounts set state = 'disabled' where id = $1", [account.accountId]),
  },
  {
    what: 'the account is erased',
    async end({ souk, account: { accountId } }) {
      const now = souk.clock.now();
      const dueAt = new Date(now);
      await souk.database.query('update accounts set erase_at = $2 where id = $1', [accountId, dueAt]);
      const erased = await eraseDueAccounts(souk.database, now, (_, error) => {
        throw error;
      });
      expect(erased).toHaveLength(1);
    },
  },
];

test.for(ENDINGS)('a link ends when $what', async ({ end }, { souk, account, client }) => {
  const now = souk.clock.now();
  const about = { settings: WITHOUT_LIMITS, createdBy: null, now };
  const { key, id: keyId } = await addKey(souk.database, account.accountId, about);
  const { path, linkId } = await linkTo(souk.clientOf(key), await jobOf(client));
  expect(await isOpen(client, path)).toBe(true);
  await end({ souk, account, client, linkId, keyId });
  expect((await client.raw(path)).json.code).toBe('LINK_NOT_FOUND');
});

test('a link opens only in the networks of its key', async ({ souk, account, client }) => {
  const now = souk.clock.now();
  const id = await jobOf(client);
  const { key, id: keyId } = await addKey(souk.database, account.accountId, {
    settings: WITHOUT_LIMITS,
    createdBy: null,
    now,
  });
  const { path } = await linkTo(souk.clientOf(key), id);
  await souk.database.query("update api_keys set networks = '{192.0.2.0/24}' where id = $1", [keyId]);
  expect((await client.raw(path)).json.code).toBe('KEY_ADDRESS_REFUSED');
});

test('a link of the pages ends with the membership of its person', async ({ souk }) => {
  const { visitor, accountId, client } = await signedIn(souk);
  const id = await jobOf(client);
  const page = await visitor.post('/account/links', { target: 'job', id, hours: '24' });
  expect(page.status).toBe(200);
  const path = /(\/files\/[\w-]{43}\/[^<"]+)</.exec(page.html)?.[1] ?? '';
  expect(await isOpen(client, path)).toBe(true);
  expect((await visitor.get(`/account/jobs/${id}`)).html).toContain('Revoke');
  await souk.database.query('delete from members where account_id = $1', [accountId]);
  expect(await isOpen(client, path)).toBe(false);
});

test('a link can be created to an own result of a scope of the key only, and revoked by its account only', async ({
  souk,
  account,
  client,
}) => {
  const id = await jobOf(client);
  const stranger = await souk.client();
  for (const target of ['job', 'batch', 'file']) {
    const { status, json } = await stranger.post('/api/links', { target, id });
    expect([status, json.code]).toEqual([404, `${target.toUpperCase()}_NOT_FOUND`]);
  }
  const now = souk.clock.now();
  const limited = { ...WITHOUT_LIMITS, scopes: ['aba' as const] };
  const { key } = await addKey(souk.database, account.accountId, { settings: limited, createdBy: null, now });
  expect((await souk.clientOf(key).post('/api/links', { target: 'job', id })).json.code).toBe(
    'KEY_SCOPE_MISSING',
  );
  const { linkId, path } = await linkTo(client, id);
  for (const other of [linkId, UNKNOWN, 'x'])
    expect((await stranger.get(`/api/links/${other}`, { method: 'DELETE' })).json.code).toBe(
      'LINK_NOT_FOUND',
    );
  expect((await stranger.get('/api/links')).json.data).toEqual({ links: [], nextCursor: null });
  expect(await isOpen(client, path)).toBe(true);
});

test.for([
  { target: 'page', id: UNKNOWN },
  { target: 'job', id: 'x' },
  { target: 'job', id: UNKNOWN, hours: 0 },
  { target: 'job', id: UNKNOWN, hours: 169 },
  { target: 'batch', id: UNKNOWN, format: 'pdf' },
  { target: 'job', id: UNKNOWN, account: 1 },
])('a link to %j is refused with 400', async (body, { client }) => {
  expect((await client.post('/api/links', body)).status).toBe(400);
});

test('refuses a link beyond the limit of an account, also for concurrent requests', async ({
  souk,
  account,
  client,
}) => {
  const id = await jobOf(client);
  const { linkId } = await linkTo(client, id);
  await souk.database.query(
    `insert into result_links (id, account_id, token_hash, target, target_id, operation, name, created_at, expires_at)
     select gen_random_uuid(), account_id, sha256(n::text::bytea), target, target_id, operation, name, created_at, expires_at
     from result_links, generate_series(1, $2) as n where id = $1`,
    [linkId, MOST_LINKS - 3],
  );
  const replies = await Promise.all(
    Array.from({ length: 4 }, () => client.post('/api/links', { target: 'job', id })),
  );
  expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 201, 429, 429]);
  expect(replies.find(({ status }) => status === 429)?.json.metadata).toEqual({
    limit: MOST_LINKS,
    of: 'links',
  });
  await souk.database.query('delete from result_links where account_id = $1', [account.accountId]);
});

test('downloads by links count as free requests of their account', async ({ souk }) => {
  const client = await souk.client();
  const { path } = await linkTo(client, await jobOf(client));
  const replies = await Promise.all(Array.from({ length: 130 }, () => client.raw(path)));
  expect(replies.some(({ status, json }) => status === 429 && json.code === 'TOO_MANY_REQUESTS')).toBe(true);
});

test.for(['/files/x', '/files/x/y.csv', `/files/${'A'.repeat(43)}/y.csv`, `/files/${'A'.repeat(43)}`])(
  'returns 404 for %s',
  async (path, { client }) => {
    const { status, json } = await client.raw(path);
    expect([status, json.code]).toEqual([404, 'LINK_NOT_FOUND']);
  },
);
