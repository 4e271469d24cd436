import { randomUUID } from 'node:crypto';
import { fastify } from 'fastify';
import { Secret, TOTP } from 'otpauth';
import { beforeEach, expect } from 'vitest';
import type { Role } from '../../../src/accounts/members.ts';
import { createPerson } from '../../../src/accounts/people.ts';
import { ensureStandardPlans } from '../../../src/billing/standard-plans.ts';
import { createTestKey } from '../../../src/billing/test-wallet.ts';
import { ACTS_A_DAY, type AccountLine, writeAct } from '../../../src/operator/account-audit.ts';
import { ACCOUNT_ACTIONS, writeLine } from '../../../src/operator/audit.ts';
import { writePageActs } from '../../../src/site/page-acts.ts';
import {
  accountOf,
  type Customer,
  join,
  memberOf,
  PAGES,
  PASSWORD,
  signedIn,
  signUp,
  staffOf,
} from '../../support/customer.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import type { Visitor } from '../../support/visitor.ts';

test.override('soukOptions', { workers: 0, pages: PAGES, operator: { adminToken: 'only-for-programs' } });

let souk: Souk;
let owner: Customer;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  await ensureStandardPlans(souk.database);
});
beforeEach(async () => {
  owner = await signedIn(souk);
  await owner.visitor.get('/account/team');
});

async function member(role: Role) {
  const joined = await memberOf(souk, owner.accountId, role);
  await joined.visitor.get('/account/keys');
  return joined;
}

async function personOf(email: string): Promise<number> {
  const { rows } = await souk.database.query<{ id: number }>('select id from people where email = $1', [
    email,
  ]);
  return rows[0]?.id ?? 0;
}

/** All lines of an account, the newest first. */
async function all(query = '', visitor = owner.visitor): Promise<AccountLine[]> {
  const page = await visitor.get(`/account/audit.json${query}`);
  expect(page.status).toBe(200);
  return JSON.parse(page.sentHtml) as AccountLine[];
}

/** All lines of an account without their times and ids. */
async function lines(query = '', visitor = owner.visitor) {
  return (await all(query, visitor)).map(({ action, actor, target, isTest }) => ({
    action,
    actor,
    target,
    isTest,
  }));
}

const newKey = (html: string) => /km_(?:test_)?[A-Za-z0-9]{32}/.exec(html)?.[0] ?? '';

test('acts on pages, by the API for a person, and by keys of programs have a line each, and refused ones none', async () => {
  const developer = await member('developer');
  const created = await developer.visitor.post('/account/keys/new', { name: 'Robot' });
  const key = newKey(created.html);
  const { rows: keys } = await souk.database.query<{ id: number }>(
    "select id from api_keys where account_id = $1 and name = 'Robot'",
    [owner.accountId],
  );
  const program = souk.clientOf(key);
  expect((await program.post('/api/webhooks/secret', {})).status).toBe(201);
  expect((await program.post('/api/schedules', { name: '' })).status).toBe(400);
  const batch = { operation: 'market.product', items: [{ domain: 1, asins: 'B000000001' }] };
  const schedule = { name: 'Daily', cron: '0 6 * * *', batch };
  expect((await program.post('/api/schedules?dryRun=1', schedule)).status).toBe(200);
  await developer.visitor.get('/account/webhooks');
  await developer.visitor.post('/account/webhooks/secret', {});
  await developer.visitor.post('/account/team/role', { person: String(owner.personId), role: 'viewer' });
  await owner.visitor.post('/account/settings/name', { name: 'Renamed' });
  await owner.visitor.post('/account/settings/name', { name: '' });
  expect(await lines()).toEqual([
    {
      action: 'account.renamed',
      actor: expect.stringMatching(/@test\.example$/),
      target: null,
      isTest: false,
    },
    { action: 'webhook.secret-created', actor: developer.email, target: null, isTest: false },
    { action: 'webhook.secret-created', actor: `${key.slice(0, 7)} (Robot)`, target: null, isTest: false },
    { action: 'key.created', actor: developer.email, target: String(keys[0]?.id), isTest: false },
  ]);
});

test('the operator has lines without a name, and none of what is not about the account', async () => {
  const { visitor, personId } = await staffOf(souk);
  await visitor.get(`/admin/accounts/${owner.accountId}`);
  const granted = await visitor.post(`/admin/accounts/${owner.accountId}/pack`, {
    units: '100',
    wallet: 'general',
    rate: '60',
    validDays: '30',
  });
  expect(granted.status).toBe(200);
  await visitor.get(`/account/${owner.accountId}/jobs`);
  await join(souk, { accountId: owner.accountId, personId, role: 'viewer' });
  const operator = {
    channel: 'console',
    name: `person ${personId}`,
    personId,
    address: '192.0.2.1',
  } as const;
  await writeLine(souk.database, operator, { action: 'plan.saved', target: 'secret plan' });
  const found = await lines();
  expect(found.map(({ action, actor }) => [action, actor])).toEqual([
    ['account.viewed', 'operator'],
    ['pack.granted', 'operator'],
  ]);
  expect(JSON.stringify(await all())).not.toMatch(/staff\.example|192\.0\.2\.1|secret plan/);
});

test('a member who joined later shows no earlier acts, and one who deletes the profile leaves a line', async () => {
  const email = 'leaver@audit.example';
  const leaver = await signUp(souk, email);
  const personId = await personOf(email);
  await writeAct(souk.database, personId, { accountId: null, action: 'person.password-changed' });
  const since = async (hours: number) => {
    await join(souk, { accountId: owner.accountId, personId, role: 'viewer' });
    await souk.database.query(
      'update members set created_at = clock_timestamp() + make_interval(hours => $3) where account_id = $1 and person_id = $2',
      [owner.accountId, personId, hours],
    );
  };
  await since(1);
  expect(await lines()).toEqual([]);
  await since(-1);
  expect(await lines()).toMatchObject([{ action: 'person.password-changed', actor: email }]);
  await souk.database.query('delete from members where person_id = $1 and account_id <> $2', [
    personId,
    owner.accountId,
  ]);
  await leaver.get('/profile');
  const erased = await leaver.post('/profile/erase', { password: PASSWORD, confirmation: 'DELETE' });
  expect(erased.address).toBe('/');
  expect(await lines()).toMatchObject([{ action: 'member.left', actor: `person ${personId}` }]);
});

test('a sign-up, a purchase and the key that comes with it, changes of a member and a download have lines', async () => {
  const customer = await signUp(souk, 'buyer@audit.example');
  const orderId = randomUUID();
  const sent = { orderId, kind: 'plan', code: 'basic', wallet: 'general' };
  await customer.get('/account/checkout?kind=plan&code=basic');
  const bought = await customer.post('/account/checkout', sent);
  expect(bought.text).toContain('Purchase complete');
  const key = newKey(bought.html);
  // The form is sent again, and nothing is bought.
  await customer.post('/account/checkout', sent);
  const colleague = await createPerson(
    souk.database,
    { email: 'colleague@audit.example', name: 'Colleague' },
    souk.clock.now(),
  );
  const accountId = await accountOf(souk.database, 'buyer@audit.example');
  const personId = colleague?.id ?? 0;
  await join(souk, { accountId, personId, role: 'viewer' });
  await customer.post('/account/team/role', { person: String(personId), role: 'admin' });
  await customer.get('/account/data.json');
  await customer.post('/account/team/remove', { person: String(personId) });
  expect(await lines('', customer)).toMatchObject([
    { action: 'member.removed', target: 'colleague@audit.example' },
    { action: 'account.exported', target: null },
    { action: 'member.changed', target: 'colleague@audit.example, admin' },
    { action: 'key.created', target: key.slice(0, 7), actor: 'buyer@audit.example' },
    { action: 'purchase.begun', target: orderId },
    { action: 'account.created', target: null },
  ]);
});

test('lines tell what was switched, and forms that have changed nothing leave none', async () => {
  const email = 'careful@audit.example';
  const customer = await signUp(souk, email);
  await customer.get('/profile/two-factor');
  const shown = await customer.post('/profile/two-factor/begin', { current: PASSWORD });
  const secret = Secret.fromBase32(/[A-Z2-7]{32}/.exec(shown.text)?.[0] ?? '');
  const code = () => new TOTP({ secret }).generate({ timestamp: souk.clock.now() });
  const wrong = code() === '000000' ? '000001' : '000000';
  expect((await customer.post('/profile/two-factor/confirm', { code: wrong })).status).toBe(400);
  const on = await customer.post('/profile/two-factor/confirm', { code: code() });
  const [recovery = ''] = on.text.match(/[0-9a-f]{8}-[0-9a-f]{8}/) ?? [];
  await customer.get('/profile/two-factor');
  await customer.post('/profile/two-factor/off', { code: recovery });
  await customer.get('/account/settings');
  await customer.post('/account/settings/keep', {});
  await customer.post('/account/keys/first', {});
  expect(await lines('', customer)).toMatchObject([
    { action: 'person.two-factor-changed', target: 'off', actor: email },
    { action: 'person.two-factor-changed', target: 'on', actor: email },
    { action: 'account.created' },
  ]);
});

test('a line has nothing of what a form was sent beyond its fields, and no address of a person outside the account', async () => {
  const stranger = await signedIn(souk);
  const more = { person: String(stranger.personId), role: 'owner', invitation: '7', id: 'x'.repeat(60_000) };
  await owner.visitor.post('/account/settings/name', { ...more, name: 'Renamed' });
  await writeAct(souk.database, owner.personId, {
    accountId: owner.accountId,
    action: 'account.renamed',
    target: `person ${stranger.personId}`,
  });
  expect(await lines()).toMatchObject([
    { action: 'account.renamed', target: `person ${stranger.personId}` },
    { action: 'account.renamed', target: null },
  ]);
});

test('a change of a member has its line although the form was sent with a control character', async () => {
  const admin = await member('admin');
  const changed = await owner.visitor.post('/account/team/role', {
    person: String(admin.personId),
    role: 'viewer\u0000',
  });
  expect(changed.status).toBe(200);
  expect(await lines()).toMatchObject([{ action: 'member.changed', target: `${admin.email}, viewer` }]);
});

test('acts in the test account are marked', async () => {
  await createTestKey(souk.database, owner.accountId, souk.clock.now());
  await owner.visitor.post(`/account/test-${owner.accountId}/keys/reset`, {});
  await owner.visitor.post(`/account/test-${owner.accountId}/settings/name`, { name: 'Of both' });
  expect(await lines()).toMatchObject([
    { action: 'account.renamed', isTest: false },
    { action: 'key.reset', isTest: true },
  ]);
});

test('are filtered and exported', async () => {
  const admin = await member('admin');
  await owner.visitor.post('/account/settings/name', { name: 'First' });
  await admin.visitor.post('/account/settings/name', { name: 'Second' });
  expect((await admin.visitor.get('/account/audit')).text).toContain(ACCOUNT_ACTIONS['account.renamed']);
  const csv = (await admin.visitor.get(`/account/audit.csv?actor=${admin.email}`)).sentHtml
    .trim()
    .split('\n');
  expect(csv).toHaveLength(2);
  expect(csv[1]).toContain(`account.renamed,${admin.email}`);
  expect(await lines('?action=key.created')).toEqual([]);
  expect((await owner.visitor.get('/account/audit?action=unknown')).status).toBe(400);
});

test('keys of an account and a person have a number of lines a day, and one that says that there is more', async () => {
  await souk.database.query(
    `insert into audit_log (channel, operator, key_id, person_id, action, account_id)
     select channel, 'some', 1, $3, 'webhook.tested', $1
     from generate_series(1, $2), unnest(array['api', 'page']) as channel`,
    [owner.accountId, ACTS_A_DAY, owner.personId],
  );
  const before = (await all()).length;
  for (let n = 0; n < 3; n += 1) {
    expect((await owner.client.post('/api/webhooks/secret', {})).status).toBe(201);
    await owner.visitor.post('/account/settings/name', { name: `Name ${n}` });
  }
  // What a person does about the own profile is never left out.
  await writeAct(souk.database, owner.personId, { accountId: null, action: 'person.password-changed' });
  const { rows } = await souk.database.query<{ channel: string; action: string }>(
    "select channel, action from audit_log where operator <> 'some' and (account_id = $1 or person_id = $2) order by id",
    [owner.accountId, owner.personId],
  );
  expect(rows).toEqual([
    { channel: 'api', action: 'acts.omitted' },
    { channel: 'page', action: 'acts.omitted' },
    { channel: 'page', action: 'person.password-changed' },
  ]);
  expect((await all()).length).toBe(before + 3);
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
  const list = await developer.visitor.get('/account/keys');
  expect(list.text).toContain(developer.email);
  expect(list.text).not.toContain('Reset your keys');
  expect(list.html.match(/action="[^"]*keys\/revoke"/g)).toHaveLength(1);
  await developer.visitor.post('/account/keys/revoke', { id: idOf('own') });
  expect((await souk.clientOf(own).get('/api/quota')).status).toBe(403);
  expect((await souk.clientOf(others).get('/api/quota')).status).toBe(200);
});

test('a developer gives no key the right to manage keys', async () => {
  const developer = await member('developer');
  const refused = await developer.visitor.post('/account/keys/new', { name: 'All', scope_keys: '1' });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('keys: can be given only by an owner or admin');
  const admin = await member('admin');
  expect((await admin.visitor.post('/account/keys/new', { name: 'All', scope_keys: '1' })).status).toBe(200);
});

test('a form without an entry in the list of acts fails the start', () => {
  const app = fastify();
  writePageActs(app, { database: souk.database });
  expect(() => app.post('/account/unknown', () => '')).toThrow(
    'the form /account/unknown needs the action of its line in the audit log, or null',
  );
});
