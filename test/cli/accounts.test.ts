import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { ownerOf } from '../support/customer.ts';
import type { Souk } from '../support/souk.ts';
import { type SoukCommand, soukCommand } from '../support/souk-command.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', { workers: 0 });
let souk: Souk;
let command: SoukCommand;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  command = soukCommand({ DATABASE_URL: souk.databaseUrl });
});

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
  const made: { link: string; until: string } = await command.json(`account password --account ${accountId}`);
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
