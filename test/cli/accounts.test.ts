import { createHash } from 'node:crypto';
import { describe, expect } from 'vitest';
import { ownerOf, signedIn, staffOf } from '../support/customer.ts';
import type { Souk } from '../support/souk.ts';
import { type SoukCommand, soukCommand } from '../support/souk-command.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', { workers: 0, operator: { adminToken: 'only-for-the-operator' } });
let souk: Souk;
let command: SoukCommand;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  command = soukCommand({ DATABASE_URL: souk.databaseUrl });
});

describe('account', () => {
  test('create stores the e-mail address in lower case, and refuses it for a second account', async () => {
    const created = await command.json([
      'account',
      'create',
      '--email',
      ' Ann@Shop.Example',
      '--name',
      'Ann Öz',
    ]);
    expect(created).toEqual({
      emailConfirmedAt: null,
      ownerId: expect.any(Number),
      id: expect.any(Number),
      email: 'ann@shop.example',
      name: 'Ann Öz',
      state: 'active',
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.+Z$/),
    });
    const again = await command.run('account create --email ANN@shop.example');
    expect(again).toEqual({
      code: 1,
      stdout: '',
      stderr: 'ann@shop.example already has an account.\n',
    });
  });

  test('create uses the e-mail address as the name if no name is given', async () => {
    expect(await command.text('account create --email bea@shop.example')).toMatch(
      /│ bea@shop\.example +│ bea@shop\.example +│ active/,
    );
  });

  test('list prints every account, as a table or as JSON', async () => {
    const { accountId } = await souk.account();
    const list: { id: number; email: string }[] = await command.json('account list');
    const { rows } = await souk.database.query('select id from accounts order by id');
    expect(list.map(({ id }) => ({ id }))).toEqual(rows);
    const text = await command.text('account list');
    expect(text).toMatch(/ID +│ E-mail +│ Name +│ State +│ Created/);
    expect(text).toContain(`│ ${accountId} `);
  });

  test('the next call of a disabled account returns code 4003, until the account is enabled', async () => {
    const { accountId, key } = await souk.account();
    const quota = async () => (await souk.clientOf(key).get('/api/quota')).json.code;
    expect(await quota()).toBe('0000');
    expect(await command.json(`account disable ${accountId}`)).toMatchObject({
      id: accountId,
      state: 'disabled',
    });
    expect(await quota()).toBe('4003');
    expect(await command.text(`account enable ${accountId}`)).toContain('active');
    expect(await quota()).toBe('0000');
  });

  test('password prints a link to the reset page, and stores only the digest of its token', async () => {
    const { accountId } = await souk.account();
    const made: { link: string; until: string } = await command.json(
      `account password --account ${accountId}`,
    );
    const [, token = ''] =
      /^http:\/\/127\.0\.0\.1:3000\/reset-password\?token=([\w-]{43})$/.exec(made.link) ?? [];
    const { rows } = await souk.database.query<{ digest: string }>(
      "select encode(token_hash, 'hex') as digest from password_resets where person_id = $1",
      [await ownerOf(souk.database, accountId)],
    );
    expect(rows).toEqual([{ digest: createHash('sha256').update(token).digest('hex') }]);
    expect(await command.text(`account password --account ${accountId}`)).toContain('/reset-password?token=');
    expect(await command.run('account password --account 99999999')).toMatchObject({
      code: 1,
      stderr: 'Account 99999999 does not exist.\n',
    });
  });
});

async function emailOf(personId: number): Promise<string> {
  const { rows } = await souk.database.query<{ email: string }>('select email from people where id = $1', [
    personId,
  ]);
  return rows[0]?.email ?? '';
}

describe('person', () => {
  test('role sets and takes a role, which ends the sessions; staff lists it', async () => {
    const { visitor, personId } = await signedIn(souk);
    const email = await emailOf(personId);
    expect(await command.json(['person', 'role', email.toUpperCase(), 'finance'])).toMatchObject({
      id: personId,
      installationRole: 'finance',
    });
    expect((await visitor.get('/account')).path).toMatch(/^\/sign-in/);
    expect(await command.json('person staff')).toMatchObject([{ email, installationRole: 'finance' }]);
    expect(await command.text('person staff')).toMatch(/ID +│ E-mail +│ Name +│ Role +│ Created/);
    expect(await command.text(`person role ${email} none`)).not.toContain('finance');
    expect(await command.json('person staff')).toEqual([]);
  });

  test('role none ends access to the console', async () => {
    const { visitor, email } = await staffOf(souk, 'support');
    expect((await visitor.get('/admin')).status).toBe(200);
    await command.text(`person role ${email} none`);
    expect((await visitor.get('/admin')).path).toBe('/sign-in?to=%2Fadmin');
  });

  test.for([
    ['role unknown@shop.example operator', 1, 'unknown@shop.example has no profile here.\n'],
    ['role no-address operator', 1, expect.stringContaining('must be an e-mail address')],
    [
      'role ann@shop.example owner',
      1,
      expect.stringContaining('"operator"|"support"|"finance"|"observer"|"none"'),
    ],
    ['unlink unknown@shop.example', 1, 'unknown@shop.example has no profile here.\n'],
    ['reset2fa unknown@shop.example', 1, 'unknown@shop.example has no profile here.\n'],
  ] as const)('%s is refused with a reason', async ([line, code, stderr]) => {
    expect(await command.run(`person ${line}`)).toEqual({ code, stdout: '', stderr });
  });

  test('reset2fa turns two-factor sign-in off, says whether it was on, and informs the person if it was', async () => {
    const { email, personId } = await staffOf(souk);
    const add = (confirmedAt: Date | null) =>
      souk.database.query(
        "insert into two_factor (person_id, secret, confirmed_at) values ($1, 'secret', $2)",
        [personId, confirmedAt],
      );
    await add(new Date());
    expect(await command.text(`person reset2fa ${email}`)).toContain('Two-factor sign-in is off.');
    expect(await command.json(`person reset2fa ${email}`)).toEqual({ personId, wasOn: false });
    await add(null);
    expect(await command.json(`person reset2fa ${email}`)).toEqual({ personId, wasOn: false });
    const { rows } = await souk.database.query(
      "select payload from outbox where kind = 'two_factor_changed' and person_id = $1",
      [personId],
    );
    expect(rows.map(({ payload }) => JSON.parse(payload).isOn)).toEqual([false]);
  });
});

test('person unlink ends the link with an identity and the sessions, and says whether there was one', async () => {
  const { visitor, email, personId } = await staffOf(souk);
  await souk.database.query(
    "update people set oidc_issuer = 'https://id.example', oidc_subject = $2 where id = $1",
    [personId, email],
  );
  expect(await command.json(`person unlink ${email}`)).toEqual({ personId, wasLinked: true });
  expect((await visitor.get('/admin')).path).toMatch(/^\/sign-in/);
  expect(await command.text(`person unlink ${email}`)).toContain('was not linked with an identity.');
});

describe('member', () => {
  test('set makes a person a member or changes the role, list shows it, and remove ends the pages', async () => {
    const { accountId } = await souk.account();
    const { visitor, personId } = await signedIn(souk);
    const email = await emailOf(personId);
    const page = async () => (await visitor.get(`/account/${accountId}/keys`)).status;
    expect(await page()).toBe(404);
    await command.text(`member set --account ${accountId} --email ${email} --role viewer`);
    expect(await page()).toBe(200);
    const set = `member set --account ${accountId} --email ${email} --role developer`;
    expect(await command.json(set)).toMatchObject([
      { role: 'owner' },
      { personId, email, role: 'developer' },
    ]);
    expect(await command.text(`member list --account ${accountId}`)).toMatch(
      /Person +│ E-mail +│ Name +│ Role +│ Since/,
    );
    const left = await command.json(`member remove --account ${accountId} --email ${email}`);
    expect(left).toMatchObject([{ personId: await ownerOf(souk.database, accountId) }]);
    expect(left).toHaveLength(1);
    expect(await page()).toBe(404);
  });

  test('an account keeps an owner, and only people with a profile become members', async () => {
    const { accountId, personId } = await signedIn(souk);
    const email = await emailOf(personId);
    const at = `--account ${accountId} --email`;
    for (const [line, stderr] of [
      [`member remove ${at} ${email}`, 'An account needs an owner.\n'],
      [`member set ${at} ${email} --role admin`, 'An account needs an owner.\n'],
      [`member set ${at} unknown@shop.example --role admin`, 'unknown@shop.example has no profile here.\n'],
      ['member list --account 99999999', 'Account 99999999 does not exist.\n'],
    ])
      expect(await command.run(line ?? '')).toEqual({ code: 1, stdout: '', stderr });
    const { email: stranger } = await staffOf(souk);
    expect((await command.run(`member remove ${at} ${stranger}`)).stderr).toBe(
      `${stranger} is no member of account ${accountId}.\n`,
    );
  });
});
