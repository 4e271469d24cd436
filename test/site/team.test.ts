import type { ClientBase } from 'pg';
import { beforeEach, describe, expect } from 'vitest';
import { listKeys } from '../../src/accounts/account-keys.ts';
import { listInvitations } from '../../src/accounts/invitations.ts';
import { listMembers, type Role, removeMember, setMember } from '../../src/accounts/members.ts';
import { findPerson } from '../../src/accounts/people.ts';
import type { AccountLine } from '../../src/operator/account-audit.ts';
import { eraseDueAccounts, requestErasure } from '../../src/operator/personal-data/erasure.ts';
import { queueMail } from '../../src/outbox/mail/mails.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { type Customer, expectPage, join, memberOf, PAGES, PASSWORD, signedIn } from '../support/customer.ts';
import type { MailServer } from '../support/mail-server.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { createVisitor, type VisitedPage, type Visitor } from '../support/visitor.ts';

const PUBLIC_URL = 'https://souk.example';

test.override('soukOptions', ({ mailServer }) => ({
  workers: 0,
  pages: PAGES,
  mail: { from: 'souk@souk.example', publicUrl: PUBLIC_URL, transport: { smtpUrl: mailServer.url } },
}));

let souk: Souk;
let server: MailServer;
let owner: Customer;
let number = 0;
test.beforeAll(async ({ souk: opened, mailServer }) => {
  souk = opened;
  server = mailServer;
  await souk.addWorker(['batch']);
});
beforeEach(async () => {
  server.reset();
  // The limits of an hour.
  souk.clock.advance(3_600_000);
  owner = await signedIn(souk);
  await owner.visitor.get('/account/team');
});

const stranger = () => createVisitor(souk.clientOf('').baseUrl);

const newAddress = () => {
  number += 1;
  return `guest-${number}@team.example`;
};

/** Invites somebody, and returns the path of the link in the mail. */
async function invited(email: string, role: Role): Promise<string> {
  const before = invitationsTo(email).length;
  const page = await owner.visitor.post('/account/team/invite', { email, role });
  expect(page.text).toContain('The invitation is on its way.');
  await souk.clock.until('outbox step');
  souk.clock.advance(1_000);
  await expect.poll(() => invitationsTo(email).length).toBe(before + 1);
  const { text = '' } = invitationsTo(email).at(-1) ?? {};
  return /https:\/\/souk\.example(\/invitation\?token=\S+)/.exec(text)?.[1] ?? '';
}

const invitationsTo = (email: string) =>
  server.taken.filter(({ to, subject }) => to?.[0]?.address === email && subject?.includes('invites you'));

/** A member of the owner's account. */
const member = (role: Role) => memberOf(souk, owner.accountId, role);

const tokenIn = (path: string) => path.split('token=')[1] ?? '';

describe('an invitation', () => {
  test('makes a newcomer a member once, with a name and a password', async () => {
    const email = newAddress();
    const link = await invited(email, 'developer');
    const guest = stranger();
    expect((await guest.get(link)).text).toContain(`For ${email} , as developer: keys of their own`);
    const fields = { token: tokenIn(link), name: 'Guest', password: PASSWORD };
    expect((await guest.post('/invitation/join', { ...fields, password: 'short' })).status).toBe(400);
    const joined = await guest.post('/invitation/join', fields);
    expect(joined.address).toBe(`/account/${owner.accountId}`);
    expect((await guest.get('/account/team')).text).toContain(`${email} (you)`);
    const { sentHtml } = await owner.visitor.get('/account/audit.json');
    const [accepted, sent] = JSON.parse(sentHtml) as AccountLine[];
    expect(sent).toMatchObject({ action: 'member.invited', personId: owner.personId });
    expect(sent?.target).toMatch(/^invitation \d+, developer$/);
    expect(accepted).toMatchObject({ action: 'member.joined', actor: email, target: sent?.target });
    expect((await stranger().get(link)).status).toBe(404);
    const again = stranger();
    await again.get('/sign-in');
    expect((await again.post('/sign-in', { email, password: PASSWORD })).status).toBe(200);
  });

  test('is accepted by the person whom it was sent to, and by no other who has the link', async () => {
    const other = await signedIn(souk);
    const third = await signedIn(souk);
    const { rows } = await souk.database.query<{ email: string }>('select email from people where id = $1', [
      other.personId,
    ]);
    const link = await invited(rows[0]?.email ?? '', 'viewer');
    expect((await third.visitor.get(link)).text).toContain('You are signed in as');
    // A page with a form, whose token the next form is sent with.
    await third.visitor.get('/profile');
    const stolen = await third.visitor.post('/invitation/accept', { token: tokenIn(link) });
    expect(stolen.status).toBe(404);
    const join = { token: tokenIn(link), name: 'Thief', password: PASSWORD };
    const thief = stranger();
    expect((await thief.get(link)).text).toContain('Sign in to accept it.');
    await thief.get('/sign-in');
    expect((await thief.post('/invitation/join', join)).status).toBe(409);
    await other.visitor.get(link);
    const accepted = await other.visitor.post('/invitation/accept', { token: tokenIn(link) });
    expect(accepted.address).toBe(`/account/${owner.accountId}`);
    const members = await listMembers(souk.database, owner.accountId);
    expect(members.map(({ personId, role }) => [personId, role])).toEqual([
      [owner.personId, 'owner'],
      [other.personId, 'viewer'],
    ]);
  });

  test('that is withdrawn, replaced or older than seven days is not valid', async () => {
    const [first, second, third] = [newAddress(), newAddress(), newAddress()];
    const withdrawn = await invited(first, 'viewer');
    const [, id = ''] =
      /name="invitation" value="(\d+)"/.exec((await owner.visitor.get('/account/team')).html) ?? [];
    expect((await owner.visitor.post('/account/team/withdraw', { invitation: id })).text).not.toContain(
      first,
    );
    const replaced = await invited(second, 'viewer');
    const valid = await invited(second, 'developer');
    const late = await invited(third, 'viewer');
    for (const path of [withdrawn, replaced]) expect((await stranger().get(path)).status).toBe(404);
    expect((await stranger().get(valid)).text).toContain('as developer');
    souk.clock.advance(7 * DAY_MS);
    expect((await stranger().get(late)).status).toBe(404);
  });

  test('of a member, of an owner by an admin, and beyond fifty is refused', async () => {
    const admin = await member('admin');
    await admin.visitor.get('/account/team');
    const refused = async (fields: { email: string; role: Role }) =>
      (await admin.visitor.post('/account/team/invite', fields)).text;
    expect(await refused({ email: admin.email, role: 'viewer' })).toContain('is a member already');
    expect(await refused({ email: newAddress(), role: 'owner' })).toContain('Only an owner makes');
    await souk.database.query(
      `insert into invitations (account_id, email, role, created_at, expires_at)
       select $1, n || '@many.example', 'viewer', $2, $3 from generate_series(1, 50) as n`,
      [owner.accountId, new Date(souk.clock.now()), new Date(souk.clock.now() + DAY_MS)],
    );
    expect(await refused({ email: newAddress(), role: 'viewer' })).toContain('50 invitations are open');
  });
});

describe('the pages of an account', () => {
  test('are named by their address, so that two tabs show two accounts', async () => {
    const { visitor, personId } = await signedIn(souk);
    const own = (await visitor.get('/account')).address;
    await join(souk, { accountId: owner.accountId, personId, role: 'viewer' });
    const [mine, theirs] = [
      await visitor.get(`${own}/settings`),
      await visitor.get(`/account/${owner.accountId}/settings`),
    ];
    expect(mine.text).toContain(`Account number ${own.split('/')[2]}`);
    expect(theirs.text).toContain(`Account number ${owner.accountId}`);
    expect(mine.sentHtml).toContain(`href="/account/${owner.accountId}"`);
    expect(theirs.sentHtml).toContain(`href="${own}"`);
    const links = [...theirs.sentHtml.matchAll(/(?:href|action)="(\/(?:account|explore)[^"]*)"/g)];
    const others = links.filter(([, path = '']) => !path.startsWith(`/account/${owner.accountId}`));
    expect([...new Set(others.map(([, path]) => path))]).toEqual([own]);
    // Without an account, an address leads to the one that was shown last.
    expect((await createVisitorWith(visitor).get('/account/keys')).address).toBe(
      `/account/${owner.accountId}/keys`,
    );
  });
});

describe('a role', () => {
  test('that is changed counts from the next request, also for the key of the pages', async () => {
    const { visitor, personId } = await member('developer');
    await visitor.get('/account/schedules');
    const keys = async () => {
      const { rows } = await souk.database.query<{ scopes: string[] | null }>(
        `select scopes from api_keys where purpose = 'pages' and person_id = $1`,
        [personId],
      );
      return rows.map(({ scopes }) => scopes);
    };
    expect(await keys()).toEqual([null]);
    await owner.visitor.post('/account/team/role', { person: String(personId), role: 'viewer' });
    expect(await keys()).toEqual([]);
    const refused = await visitor.post('/explore/product', {
      domain: '1',
      asin: 'B08N5WRWNX',
      view: 'product',
    });
    expect(refused.text).toContain(
      'Your role in this account is viewer. This requires an owner, admin or developer.',
    );
    expect(await keys()).toEqual([['read']]);
  });

  test('of the last owner cannot be changed or removed', async () => {
    const person = String(owner.personId);
    for (const [path, fields] of [
      ['role', { person, role: 'admin' }],
      ['remove', { person }],
    ] as const) {
      const page = await owner.visitor.post(`/account/team/${path}`, fields);
      expectPage(page, 409, 'An account needs an owner.');
    }
  });

  test('of an owner is given and taken by owners only', async () => {
    const admin = await member('admin');
    const second = await member('owner');
    await admin.visitor.get('/account/team');
    for (const fields of [
      { person: String(second.personId), role: 'viewer' },
      { person: String(admin.personId), role: 'owner' },
    ]) {
      const page = await admin.visitor.post('/account/team/role', fields);
      expectPage(page, 403, 'Only an owner');
    }
    const page = await owner.visitor.post('/account/team/role', {
      person: String(second.personId),
      role: 'viewer',
    });
    expect(page.status).toBe(200);
  });
});

describe('removing a member', () => {
  test.for([
    ['and the keys of the person', true],
    ['and keeps the keys of the person', false],
  ] as const)('ends the pages immediately %s', async ([, hasKeysRevoked]) => {
    const { visitor, personId } = await member('admin');
    await visitor.get('/account/keys');
    const [key = ''] =
      /km_[A-Za-z0-9]{32}/.exec(
        (await visitor.post('/account/keys/new', { name: 'own', scope_keys: '1', scope_read: '1' })).html,
      ) ?? [];
    const { json } = await souk.clientOf(key).post('/api/keys', { scopes: ['read'] });
    const keys = [key, json.data.key as string];
    expect((await souk.clientOf(json.data.key).get('/api/jobs')).status).toBe(200);
    const fields = { person: String(personId), ...(hasKeysRevoked ? { keys: 'on' } : {}) };
    await owner.visitor.post('/account/team/remove', fields);
    expect((await visitor.get(`/account/${owner.accountId}/jobs`)).address).toContain('/sign-in');
    for (const one of keys)
      expect((await souk.clientOf(one).get('/api/jobs')).status).toBe(hasKeysRevoked ? 403 : 200);
    expect((await listMembers(souk.database, owner.accountId)).length).toBe(1);
  });
});

/**
 * Makes a change in a transaction, while a request that was let in before it waits for the account.
 * @returns the answer; on a slow machine a refusal, because a request waits for a second at most.
 */
async function answerAfter(
  send: () => Promise<VisitedPage>,
  change: (client: ClientBase) => Promise<unknown>,
): Promise<VisitedPage> {
  const waiting =
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  const sent = await inTransaction(souk.database, async (client) => {
    await change(client);
    let isAnswered = false;
    const answer = send().finally(() => {
      isAnswered = true;
    });
    while (!isAnswered && (await souk.database.query(waiting)).rowCount === 0);
    return { answer };
  });
  return sent.answer;
}

test('a member who is removed makes no change that was under way', async () => {
  const { accountId } = owner;
  const path = `/account/${accountId}`;
  const email = newAddress();
  const forms = [
    ['team/role', (personId: number) => ({ person: String(personId), role: 'admin' })],
    ['team/invite', () => ({ email, role: 'admin' })],
    ['keys/new', () => ({ name: 'Left behind' })],
  ] as const;
  for (const [form, fieldsOf] of forms) {
    const { personId, visitor } = await member('admin');
    await visitor.get(`${path}/keys/new`);
    const { status } = await answerAfter(
      () => visitor.post(`${path}/${form}`, fieldsOf(personId)),
      (client) => removeMember(client, { accountId, personId }, souk.clock.now()),
    );
    expect([404, 503], form).toContain(status);
    const members = await listMembers(souk.database, accountId);
    expect(members.map((one) => one.personId)).toEqual([owner.personId]);
  }
  expect(await listInvitations(souk.database, accountId, souk.clock.now())).toEqual([]);
  const keys = await listKeys(souk.database, accountId, souk.clock.now());
  expect(keys.map(({ name }) => name)).not.toContain('Left behind');
});

test('an admin takes no role from a member who becomes an owner at the same time', async () => {
  const admin = await member('admin');
  const { personId } = await member('developer');
  const { accountId } = owner;
  const path = `/account/${accountId}/team`;
  await admin.visitor.get(path);
  const { status } = await answerAfter(
    () => admin.visitor.post(`${path}/role`, { person: String(personId), role: 'viewer' }),
    (client) => setMember(client, { accountId, personId, role: 'owner' }, souk.clock.now()),
  );
  expect([403, 503]).toContain(status);
});

test('an invitation leaves the role of a person who becomes a member at the same time', async () => {
  const guest = await signedIn(souk);
  const person = await findPerson(souk.database, guest.personId);
  const link = await invited(person?.email ?? '', 'viewer');
  await guest.visitor.get(link);
  const { accountId } = owner;
  const { personId } = guest;
  await answerAfter(
    () => guest.visitor.post('/invitation/accept', { token: tokenIn(link) }),
    (client) => setMember(client, { accountId, personId, role: 'admin' }, souk.clock.now()),
  );
  const members = await listMembers(souk.database, accountId);
  expect(members.find((one) => one.personId === personId)?.role).toBe('admin');
});

test('mails about an account go to the members whose role they concern', async () => {
  const [billing, developer] = [await member('billing'), await member('developer')];
  const { accountId } = owner;
  const at = new Date(souk.clock.now()).toISOString();
  const recipients = async (kind: string) => {
    const { rows } = await souk.database.query<{ id: number }>(
      'select person_id as id from outbox where account_id = $1 and kind = $2 order by person_id',
      [accountId, kind],
    );
    return rows.map(({ id }) => id);
  };
  const unused = { keyId: 1, prefix: 'km_abcd', lastUsedAt: null, since: at };
  // A cause makes one mail to each.
  for (const _ of [1, 2]) await queueMail(souk.database, { accountId, kind: 'key_unused', facts: unused });
  const plan = { subscriptionId: 1, plan: 'Basic', endsAt: at, days: 1 } as const;
  await queueMail(souk.database, { accountId, kind: 'plan_ends', facts: plan });
  const failing = { scheduleId: 'a', name: 'Daily', isTracker: false, since: '1', reason: 'none' };
  await queueMail(souk.database, { accountId, kind: 'schedule_failing', facts: failing });
  expect({
    key: await recipients('key_unused'),
    plan: await recipients('plan_ends'),
    schedule: await recipients('schedule_failing'),
  }).toEqual({
    key: [owner.personId],
    plan: [owner.personId, billing.personId],
    schedule: [owner.personId, developer.personId],
  });
});

test('mails about an account link to the pages of this account', async () => {
  const { accountId } = owner;
  const facts = {
    subscriptionId: 2,
    plan: 'Basic',
    endsAt: new Date(souk.clock.now()).toISOString(),
    days: 1,
  } as const;
  await souk.database.query('update people set email_confirmed_at = now() where id = $1', [owner.personId]);
  await queueMail(souk.database, { accountId, kind: 'plan_ends', facts }, souk.clock.now());
  await souk.clock.until('outbox step');
  souk.clock.advance(1_000);
  const link = () => server.taken.map(({ text = '' }) => /https:\S+\/plans/.exec(text)?.[0]).find(Boolean);
  await expect.poll(link).toBe(`${PUBLIC_URL}/account/${accountId}/plans`);
});

describe('erasing', () => {
  test('a person who alone owns an account is refused, and otherwise leaves accounts and keys to the others', async () => {
    const guest = stranger();
    const email = newAddress();
    const link = await invited(email, 'owner');
    await guest.get(link);
    await guest.post('/invitation/join', { token: tokenIn(link), name: 'Guest', password: PASSWORD });
    await guest.get('/profile');
    const erase = { password: PASSWORD, confirmation: 'DELETE' };
    const created = await guest.post('/profile/accounts', { name: 'Own account' });
    const refused = await guest.post('/profile/erase', erase);
    expectPage(refused, 409, 'You are the only owner of Own account.');
    await join(souk, {
      accountId: Number(created.address.split('/')[2]),
      personId: owner.personId,
      role: 'owner',
    });
    expect((await guest.post('/profile/erase', erase)).path).toBe('/');
    const { rowCount } = await souk.database.query('select from people where email = $1', [email]);
    expect(rowCount).toBe(0);
    expect((await listMembers(souk.database, owner.accountId)).map(({ personId }) => personId)).toEqual([
      owner.personId,
    ]);
  });

  test('an account erases the members who belong to no other account', async () => {
    const lone = await member('viewer');
    const other = await signedIn(souk);
    await join(souk, { accountId: owner.accountId, personId: other.personId, role: 'viewer' });
    await requestErasure(souk.database, owner.accountId, souk.clock.now());
    souk.clock.advance(7 * DAY_MS);
    await eraseDueAccounts(souk.database, souk.clock.now(), (_id, error) => {
      throw error;
    });
    const { rows } = await souk.database.query<{ id: number }>(
      'select id from people where id = any($1) order by id',
      [[owner.personId, lone.personId, other.personId]],
    );
    expect(rows.map(({ id }) => id)).toEqual([other.personId]);
    expect((await other.visitor.get('/account')).status).toBe(200);
  });
});

/** A new tab of a browser: the same cookies, and no page yet. */
function createVisitorWith({ cookies }: Visitor): Visitor {
  const tab = stranger();
  for (const [name, value] of cookies) tab.cookies.set(name, value);
  return tab;
}
