import { beforeEach, expect } from 'vitest';
import { addKey } from '../../../src/accounts/account-keys.ts';
import { testAccountOf } from '../../../src/accounts/authentication.ts';
import { WITHOUT_LIMITS } from '../../../src/accounts/key-settings.ts';
import { createTestKey } from '../../../src/billing/test-wallet.ts';
import { type AccountLine, accountLines } from '../../../src/operator/account-audit.ts';
import type { Client } from '../../support/client.ts';
import { type Customer, PAGES, signedIn } from '../../support/customer.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { words } from '../../support/words.ts';

test.override('soukOptions', { workers: 0, pages: PAGES });

let souk: Souk;
let owner: Customer;
let manager: Client;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
});
beforeEach(async () => {
  owner = await signedIn(souk);
  manager = await managerOf(owner.accountId);
});

/** A client with a key that manages keys. */
async function managerOf(accountId: number): Promise<Client> {
  const now = souk.clock.now();
  const settings = { ...WITHOUT_LIMITS, name: 'Manager', scopes: ['keys', 'webhooks'] } as const;
  const { key } = await addKey(souk.database, accountId, { settings, createdBy: null, now });
  return souk.clientOf(key);
}

async function linesOf(client: Client, query = ''): Promise<AccountLine[]> {
  const { status, json } = await client.get(`/api/audit${query}`);
  expect(status).toBe(200);
  return json.data.audit;
}

const actionsOf = (lines: AccountLine[]) => lines.map(({ action }) => action);

test('lists acts of keys and of people, newest first, with who did them', async () => {
  const { json } = await manager.post('/api/keys', { name: 'Robot', scopes: ['keys'] });
  await manager.get(`/api/keys/${json.data.id}`, { method: 'PATCH', body: { name: 'Machine' } });
  await manager.get(`/api/keys/${json.data.id}`, { method: 'DELETE' });
  await owner.visitor.get('/account/settings');
  await owner.visitor.post('/account/settings/name', { name: 'Renamed' });
  const { json: keys } = await manager.get('/api/keys');
  const own = keys.data.keys.find(({ name }: { name: string }) => name === 'Manager');
  const key = { actor: `${own.prefix} (Manager)`, keyId: own.id, personId: null };
  expect(await linesOf(manager)).toMatchObject([
    { action: 'account.renamed', personId: owner.personId, keyId: null, target: null },
    { action: 'key.revoked', ...key, target: String(json.data.id) },
    { action: 'key.changed', ...key, target: String(json.data.id) },
    { action: 'key.created', ...key, target: String(json.data.id), isTest: false },
  ]);
});

test('writes nothing for requests that were refused or that read', async () => {
  expect((await manager.post('/api/keys', { name: 'Robot', scopes: ['products'] })).status).toBe(403);
  expect((await manager.post('/api/keys', { name: 5 })).status).toBe(400);
  expect((await manager.get('/api/keys/999999', { method: 'DELETE' })).status).toBe(404);
  expect((await manager.get('/api/keys')).status).toBe(200);
  expect(await linesOf(manager)).toEqual([]);
});

test('writes the line of an act that has no dry run if its query asks for one', async () => {
  const { json } = await manager.post('/api/keys?dryRun=true', { name: 'Robot', scopes: ['webhooks'] });
  await manager.get(`/api/keys/${json.data.id}?dryRun=1`, { method: 'DELETE' });
  await manager.post('/api/webhooks/secret?dryRun=true', {});
  expect(actionsOf(await linesOf(manager))).toEqual(words('webhook.secret-created key.revoked key.created'));
});

test('returns pages, and the lines of an action, of an actor and of days', async () => {
  await manager.post('/api/webhooks/secret', {});
  await owner.visitor.get('/account/settings');
  await owner.visitor.post('/account/settings/name', { name: 'First' });
  await manager.post('/api/webhooks/secret', {});
  expect(actionsOf(await linesOf(manager, '?action=account.renamed'))).toEqual(['account.renamed']);
  expect(actionsOf(await linesOf(manager, '?actor=Manager'))).toHaveLength(2);
  expect(await linesOf(manager, '?to=2020-01-01')).toEqual([]);
  expect(await linesOf(manager, '?from=2020-01-01')).toHaveLength(3);
  const { json } = await manager.get('/api/audit?limit=2');
  expect(actionsOf(json.data.audit)).toEqual(['webhook.secret-created', 'account.renamed']);
  const next = await manager.get(`/api/audit?limit=2&cursor=${json.data.nextCursor}`);
  expect(actionsOf(next.json.data.audit)).toEqual(['webhook.secret-created']);
  expect(next.json.data.nextCursor).toBeNull();
});

test('returns 403 for a key without the scope keys, and 400 for a filter that is not allowed', async () => {
  const { status, json } = await owner.client.get('/api/audit');
  expect([status, json.code]).toEqual([403, 'KEY_SCOPE_MISSING']);
  for (const query of [
    'action=unknown',
    'from=yesterday',
    'from=2020-01-02&to=2020-01-01',
    'cursor=first',
    'limit=201',
  ])
    expect((await manager.get(`/api/audit?${query}`)).status, query).toBe(400);
});

test('returns nothing of other accounts, and nothing of live keys for test keys', async () => {
  await manager.post('/api/webhooks/secret', {});
  const other = await signedIn(souk);
  expect(await linesOf(await managerOf(other.accountId))).toEqual([]);
  await createTestKey(souk.database, owner.accountId, souk.clock.now());
  const testAccount = testAccountOf(owner.accountId);
  expect(await accountLines(souk.database, testAccount, {}, { limit: 10 })).toEqual([]);
});
