import { beforeEach, expect } from 'vitest';
import { type Role, setMember } from '../../../src/accounts/members.ts';
import { createPerson } from '../../../src/accounts/people.ts';
import { ACTS_A_DAY, type AccountLine, AUDIT_ACTIONS } from '../../../src/operator/audit.ts';
import { inTransaction } from '../../../src/platform/db/transaction.ts';
import { type Customer, PAGES, signedIn, staffOf, visitorOf } from '../../support/customer.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import type { Visitor } from '../../support/visitor.ts';

test.override('soukOptions', { workers: 0, pages: PAGES });

let souk: Souk;
let owner: Customer;
let number = 0;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
});
beforeEach(async () => {
  owner = await signedIn(souk);
  await owner.visitor.get('/account/team');
});

async function member(role: Role): Promise<{ personId: number; email: string; visitor: Visitor }> {
  number += 1;
  const email = `member-${number}@audit.example`;
  const person = await createPerson(souk.database, { email, name: role }, souk.clock.now());
  const personId = person?.id ?? 0;
  await inTransaction(souk.database, (client) =>
    setMember(client, { accountId: owner.accountId, personId, role }, souk.clock.now()),
  );
  const { visitor } = await visitorOf(souk, personId);
  await visitor.get('/account/keys');
  return { personId, email, visitor };
}

/** The lines of the owner's account, the newest first. */
async function lines(query = ''): Promise<Pick<AccountLine, 'action' | 'actor' | 'target' | 'isTest'>[]> {
  const page = await owner.visitor.get(`/account/audit.json${query}`);
  expect(page.status).toBe(200);
  return (JSON.parse(page.sentHtml) as AccountLine[]).map(({ action, actor, target, isTest }) => ({
    action,
    actor,
    target,
    isTest,
  }));
}

const newKey = (html: string) => /km_(?:test_)?[A-Za-z0-9]{32}/.exec(html)?.[0] ?? '';

test('acts on pages, by the API for a person, and by keys of programs have a line each, and refused ones none', async () => {
  const developer = await member('developer');
  const created = await developer.visitor.post('/account/keys/new', { name: 'Robot', scope_webhooks: 'on' });
  const key = newKey(created.html);
  const program = souk.clientOf(key);
  expect((await program.post('/api/webhooks/secret', {})).status).toBe(201);
  expect((await program.post('/api/schedules', { name: '' })).status).toBe(400);
  await developer.visitor.get('/account/webhooks');
  await developer.visitor.post('/account/webhooks/secret', {});
  await developer.visitor.post('/account/team/role', { person: String(owner.personId), role: 'viewer' });
  await owner.visitor.post('/account/settings/name', { name: 'Renamed' });
  await owner.visitor.post('/account/settings/name', { name: '' });
  const { rows } = await souk.database.query<{ email: string }>('select email from people where id = $1', [
    owner.personId,
  ]);
  expect(await lines()).toEqual([
    { action: 'account.renamed', actor: rows[0]?.email, target: null, isTest: false },
    { action: 'webhook.secret-created', actor: developer.email, target: null, isTest: false },
    { action: 'webhook.secret-created', actor: `${key.slice(0, 7)} (Robot)`, target: null, isTest: false },
    { action: 'key.created', actor: developer.email, target: null, isTest: false },
  ]);
});

test('acts of the operator, of the test account and of members about themselves are among the lines', async () => {
  const { visitor } = await staffOf(souk);
  await visitor.get(`/admin/accounts/${owner.accountId}`);
  await visitor.post(`/admin/accounts/${owner.accountId}/pack`, {
    units: '100',
    wallet: 'general',
    days: '30',
  });
  await visitor.get(`/account/${owner.accountId}/jobs`);
  await owner.visitor.post('/account/test-key', {});
  const found = await lines();
  expect(found.map(({ action, actor }) => [action, actor === 'operator'])).toEqual(
    expect.arrayContaining([['account.viewed', true]]),
  );
  expect(JSON.stringify(found)).not.toContain('staff.example');
});

test('are read, filtered and exported by owners and admins only', async () => {
  const admin = await member('admin');
  await owner.visitor.post('/account/settings/name', { name: 'First' });
  await admin.visitor.post('/account/settings/name', { name: 'Second' });
  for (const role of ['developer', 'billing', 'viewer'] as const) {
    const { visitor } = await member(role);
    for (const path of ['/account/audit', '/account/audit.csv', '/account/audit.json'])
      expect((await visitor.get(path)).status, `${role} ${path}`).toBe(403);
  }
  expect((await admin.visitor.get('/account/audit')).text).toContain(AUDIT_ACTIONS['account.renamed']);
  const csv = (await admin.visitor.get(`/account/audit.csv?actor=${admin.email}`)).sentHtml
    .trim()
    .split('\n');
  expect(csv).toHaveLength(2);
  expect(csv[1]).toContain(`account.renamed,${admin.email}`);
  expect(await lines('?action=key.created')).toEqual([]);
  expect((await owner.visitor.get('/account/audit?action=unknown')).status).toBe(400);
  const other = await signedIn(souk);
  expect((await other.visitor.get(`/account/${owner.accountId}/audit.json`)).status).toBe(404);
});

test('a key of a program leaves lines of its first acts of a day only', async () => {
  await souk.database.query(
    `insert into audit_log (channel, operator, key_id, action, account_id)
     select 'api', 'key 1', 1, 'webhook.tested', $1 from generate_series(0, $2)`,
    [owner.accountId, ACTS_A_DAY],
  );
  const count = async () => {
    const { rows } = await souk.database.query<{ count: number }>(
      'select count(*)::int as count from audit_log where account_id = $1',
      [owner.accountId],
    );
    return rows[0]?.count;
  };
  const before = await count();
  expect((await owner.client.post('/api/webhooks/secret', {})).status).toBe(201);
  expect(await count()).toBe(before);
});

test('a developer changes and revokes only own keys, and resets none', async () => {
  const developer = await member('developer');
  const keyOf = async (who: Visitor, name: string) => {
    const { html } = await who.post('/account/keys/new', { name });
    return (await souk.clientOf(newKey(html)).get('/api/quota')).status === 200 ? newKey(html) : '';
  };
  const [own, others] = [await keyOf(developer.visitor, 'own'), await keyOf(owner.visitor, 'of the owner')];
  const { rows } = await souk.database.query<{ id: string; prefix: string; name: string }>(
    `select id, prefix, name from api_keys where account_id = $1 and name is not null`,
    [owner.accountId],
  );
  const idOf = (name: string) => String(rows.find((row) => row.name === name)?.id);
  for (const [path, fields] of [
    [`/account/keys/${idOf('of the owner')}`, { name: 'mine' }],
    ['/account/keys/revoke', { id: idOf('of the owner') }],
    ['/account/keys/reset', {}],
  ] as const)
    expect((await developer.visitor.post(path, fields)).status, path).toBe(403);
  expect((await developer.visitor.get('/account/keys')).text).toContain(developer.email);
  await developer.visitor.post('/account/keys/revoke', { id: idOf('own') });
  expect((await souk.clientOf(own).get('/api/quota')).status).toBe(403);
  expect((await souk.clientOf(others).get('/api/quota')).status).toBe(200);
});
