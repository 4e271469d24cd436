import { Secret, TOTP } from 'otpauth';
import { expect } from 'vitest';
import { createPasswordReset } from '../../src/accounts/passwords.ts';
import { findPerson } from '../../src/accounts/people.ts';
import {
  beginEnrolment,
  confirmEnrolment,
  removeTwoFactor,
  sealTwoFactor,
} from '../../src/accounts/two-factor.ts';
import { createSecretBox } from '../../src/platform/secret-box.ts';
import { ownerOf, PAGES, PASSWORD, signUp } from '../support/customer.ts';
import { registerProgram } from '../support/oauth-program.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { createVisitor, fieldIn, type Visitor } from '../support/visitor.ts';

const TOKEN = 'only-for-the-operator';

test.override('soukOptions', {
  workers: 0,
  pages: { ...PAGES, signUpsPerHour: 100 },
  operator: { adminToken: TOKEN },
});

const stranger = (souk: Souk) => createVisitor(souk.clientOf('').baseUrl);

/** Returns an app with this secret. */
const codesOf = (souk: Souk, secret: string) => () =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: souk.clock.now() });

let number = 0;

/** Signs a new customer up who turns two-factor sign-in on. */
async function enrolled(souk: Souk) {
  number += 1;
  const email = `two-factor-${number}@test.example`;
  const visitor = await signUp(souk, email);
  await visitor.get('/profile/two-factor');
  const shown = await visitor.post('/profile/two-factor/begin', { current: PASSWORD });
  expect(shown.html).toContain('<svg');
  const secret = /[A-Z2-7]{32}/.exec(shown.text)?.[0] ?? '';
  const codeNow = codesOf(souk, secret);
  const on = await visitor.post('/profile/two-factor/confirm', { code: codeNow() });
  const recovery = on.text.match(/[0-9a-f]{8}-[0-9a-f]{8}/g) ?? [];
  // The next code is of another time step.
  souk.clock.advance(30_000);
  return { email, visitor, codeNow, recovery };
}

async function enterPassword(souk: Souk, email: string, password = PASSWORD): Promise<Visitor> {
  const visitor = stranger(souk);
  await visitor.get('/sign-in');
  await visitor.post('/sign-in', { email, password, to: '/account/keys' });
  return visitor;
}

const enterCode = (visitor: Visitor, code: string) =>
  visitor.post('/sign-in/code', { code, to: '/account/keys' });

test('a password alone does not sign in; a code after it does, and is used once', async ({ souk }) => {
  const { email, codeNow, recovery } = await enrolled(souk);
  expect(new Set(recovery).size).toBe(10);
  const visitor = await enterPassword(souk, email);
  expect((await visitor.get('/account')).path).toMatch(/^\/sign-in/);
  await visitor.get('/sign-in/code');
  for (const wrong of ['000000', 'абвгде', '12345é'])
    expect((await enterCode(visitor, wrong)).status).toBe(401);
  const code = codeNow();
  expect((await enterCode(visitor, code)).path).toBe('/account/keys');

  const again = await enterPassword(souk, email);
  await again.get('/sign-in/code');
  expect((await enterCode(again, code)).status).toBe(401);
  souk.clock.advance(30_000);
  const wide = codeNow().replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
  expect((await enterCode(again, wide)).path).toBe('/account/keys');
});

test('turning it on ends the other sessions of the account', async ({ souk }) => {
  const email = 'two-sessions@test.example';
  const [visitor, other] = [await signUp(souk, email), stranger(souk)];
  await other.get('/sign-in');
  await other.post('/sign-in', { email, password: PASSWORD });
  expect((await other.get('/account')).path).toBe('/account');
  await visitor.get('/profile/two-factor');
  const shown = await visitor.post('/profile/two-factor/begin', { current: PASSWORD });
  const code = codesOf(souk, /[A-Z2-7]{32}/.exec(shown.text)?.[0] ?? '')();
  await visitor.post('/profile/two-factor/confirm', { code });
  expect((await other.get('/account')).path).toMatch(/^\/sign-in/);
  expect((await visitor.get('/account')).path).toBe('/account');
});

test('a recovery code signs in once', async ({ souk }) => {
  const { email, recovery } = await enrolled(souk);
  const [code = ''] = recovery;
  for (const [path, sent] of [
    ['/account/keys', code.toUpperCase()],
    ['/sign-in/code', code],
  ] as const) {
    const visitor = await enterPassword(souk, email);
    await visitor.get('/sign-in/code');
    expect((await enterCode(visitor, sent)).path).toBe(path);
  }
});

test('a wrong password shows the same page as without a second factor, and no code is accepted after it', async ({
  souk,
}) => {
  const { email, codeNow } = await enrolled(souk);
  const visitor = await enterPassword(souk, email, 'not the password');
  expect((await visitor.get('/sign-in/code')).path).toBe('/sign-in');
  expect((await enterCode(visitor, codeNow())).path).toBe('/sign-in?to=%2Faccount%2Fkeys');
});

test('the password is valid for five minutes', async ({ souk }) => {
  const { email, codeNow } = await enrolled(souk);
  const visitor = await enterPassword(souk, email);
  await visitor.get('/sign-in/code');
  souk.clock.advance(300_000);
  expect((await enterCode(visitor, codeNow())).path).toBe('/sign-in?to=%2Faccount%2Fkeys');
});

test('wrong codes of an account are limited from all networks together', async ({ souk }) => {
  const { email, codeNow } = await enrolled(souk);
  const visitor = await enterPassword(souk, email);
  await visitor.get('/sign-in/code');
  const statuses = [];
  for (let i = 0; i < 11; i += 1) statuses.push((await enterCode(visitor, '000000')).status);
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
  expect((await enterCode(visitor, codeNow())).status).toBe(429);
});

test('a password reset does not turn it off', async ({ souk }) => {
  const { email } = await enrolled(souk);
  const { rows } = await souk.database.query('select id from people where email = $1', [email]);
  const token = await createPasswordReset(souk.database, rows[0]?.id, souk.clock.now());
  const visitor = stranger(souk);
  await visitor.get(`/reset-password?token=${token}`);
  const reset = await visitor.post('/reset-password', { token, password: 'another long password' });
  expect(reset.path).not.toBe('/account');
  const next = await enterPassword(souk, email, 'another long password');
  expect((await next.get('/account')).path).toMatch(/^\/sign-in/);
});

test('it is turned off by a code of its owner, or by the operator', async ({ souk }) => {
  const { email, visitor, codeNow } = await enrolled(souk);
  await visitor.get('/profile/two-factor');
  const wrong = await visitor.post('/profile/two-factor/off', { code: '000000' });
  expect(wrong.status).toBe(400);
  const off = await visitor.post('/profile/two-factor/off', { code: codeNow() });
  expect(off.text).toContain('Set up');
  expect((await (await enterPassword(souk, email)).get('/account')).path).toBe('/account');

  const other = await enrolled(souk);
  const { rows } = await souk.database.query('select id from people where email = $1', [other.email]);
  expect(await removeTwoFactor(souk.database, rows[0]?.id)).toBe(true);
  expect(await findPerson(souk.database, rows[0]?.id)).not.toBeNull();
  expect((await (await enterPassword(souk, other.email)).get('/account')).path).toBe('/account');
});

test('the secret is stored sealed', async ({ souk, account: { accountId } }) => {
  const personId = await ownerOf(souk.database, accountId);
  const box = createSecretBox(['a key for secrets']);
  const { secret } = await beginEnrolment(souk.database, box, { personId, email: 'a@b.example' });
  const { rows } = await souk.database.query('select secret from two_factor where person_id = $1', [
    personId,
  ]);
  expect(rows[0]?.secret).toMatch(/^sealed:/);
  expect(rows[0]?.secret).not.toContain(secret);
});

test('stored secrets are sealed with the present key of SECRET_KEY, and open with it', async ({
  souk,
  account: { accountId },
}) => {
  const personId = await ownerOf(souk.database, accountId);
  const [older, box] = [createSecretBox(['older']), createSecretBox(['newer', 'older'])];
  const { secret } = await beginEnrolment(souk.database, older, { personId, email: 'a@b.example' });
  await sealTwoFactor(souk.database, box);
  const code = codesOf(souk, secret)();
  const given = { code, now: souk.clock.now(), session: Buffer.alloc(0) };
  expect(await confirmEnrolment(souk.database, createSecretBox(['newer']), personId, given)).toHaveLength(10);
});

test('people with a role in the installation sign in with it, too', async ({ souk }) => {
  const { email, codeNow } = await enrolled(souk);
  await souk.database.query("update people set installation_role = 'operator' where email = $1", [email]);
  const visitor = stranger(souk);
  await visitor.get('/admin/storage');
  const asked = await visitor.post('/sign-in', { email, password: PASSWORD, to: '/admin/storage' });
  expect(asked.path).toBe(`/sign-in/code?to=${encodeURIComponent('/admin/storage')}`);
  expect((await visitor.get('/admin')).path).toMatch(/^\/sign-in/);
  expect((await visitor.get('/admin/queues')).status).toBe(401);
  await visitor.get(asked.path);
  const signedIn = await visitor.post('/sign-in/code', { code: codeNow(), to: '/admin/storage' });
  expect([signedIn.status, signedIn.path]).toEqual([200, '/admin/storage']);
});

test('the consent for a program opens after the code', async ({ souk }) => {
  const { email, codeNow } = await enrolled(souk);
  const program = await registerProgram(souk.clientOf('').baseUrl);
  const visitor = stranger(souk);
  const page = await program.begin(visitor);
  const to = fieldIn(page.html, 'to');
  const code = await visitor.post('/sign-in', { email, password: PASSWORD, to });
  const kept = fieldIn(code.html, 'to');
  expect([code.path.split('?')[0], kept]).toEqual(['/sign-in/code', to]);
  const consent = await visitor.post('/sign-in/code', { code: codeNow(), to: kept });
  expect([consent.path, consent.text]).toEqual([to, expect.stringContaining('Notebook asks to use')]);
});
