import { Secret, TOTP } from 'otpauth';
import { describe, expect } from 'vitest';
import { findAccount } from '../../src/accounts/accounts.ts';
import {
  readOperatorTwoFactor,
  removeOperatorTwoFactor,
  sealOperatorTwoFactor,
  verifyOperatorCode,
} from '../../src/accounts/operator-token.ts';
import { createPasswordReset } from '../../src/accounts/passwords.ts';
import {
  beginEnrolment,
  confirmEnrolment,
  removeTwoFactor,
  sealTwoFactor,
} from '../../src/accounts/two-factor.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { createSecretBox } from '../../src/platform/secret-box.ts';
import { PAGES } from '../support/customer.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { createVisitor, type Visitor } from '../support/visitor.ts';

const PASSWORD = 'a long enough password';
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
  const visitor = stranger(souk);
  await visitor.get('/sign-up');
  await visitor.post('/sign-up', { email, name: 'Customer', password: PASSWORD });
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
  expect((await enterCode(visitor, '000000')).status).toBe(401);
  const code = codeNow();
  expect((await enterCode(visitor, code)).path).toBe('/account/keys');

  const again = await enterPassword(souk, email);
  await again.get('/sign-in/code');
  expect((await enterCode(again, code)).status).toBe(401);
  souk.clock.advance(30_000);
  expect((await enterCode(again, codeNow())).path).toBe('/account/keys');
});

test('turning it on ends the other sessions of the account', async ({ souk }) => {
  const email = 'two-sessions@test.example';
  const [visitor, other] = [stranger(souk), stranger(souk)];
  await visitor.get('/sign-up');
  await visitor.post('/sign-up', { email, name: 'Customer', password: PASSWORD });
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
  expect((await enterCode(visitor, codeNow())).path).toBe('/sign-in');
});

test('the password is valid for five minutes', async ({ souk }) => {
  const { email, codeNow } = await enrolled(souk);
  const visitor = await enterPassword(souk, email);
  await visitor.get('/sign-in/code');
  souk.clock.advance(300_000);
  expect((await enterCode(visitor, codeNow())).path).toBe('/sign-in');
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
  const { rows } = await souk.database.query('select account_id as id from account_owners where email = $1', [
    email,
  ]);
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
  const found = await souk.database.query('select account_id as id from account_owners where email = $1', [
    other.email,
  ]);
  expect(await removeTwoFactor(souk.database, found.rows[0]?.id)).toBe(true);
  expect(await findAccount(souk.database, found.rows[0]?.id)).not.toBeNull();
  expect((await (await enterPassword(souk, other.email)).get('/account')).path).toBe('/account');
});

test('the secret is stored sealed', async ({ souk, account: { accountId } }) => {
  const box = createSecretBox(['a key for secrets']);
  const { secret } = await beginEnrolment(souk.database, box, { accountId, email: 'a@b.example' });
  const { rows } = await souk.database.query('select secret from two_factor where account_id = $1', [
    accountId,
  ]);
  expect(rows[0]?.secret).toMatch(/^sealed:/);
  expect(rows[0]?.secret).not.toContain(secret);
});

test('stored secrets are sealed with the present key of SECRET_KEY, and open with it', async ({
  souk,
  account: { accountId },
}) => {
  const [older, box] = [createSecretBox(['older']), createSecretBox(['newer', 'older'])];
  const { secret } = await beginEnrolment(souk.database, older, { accountId, email: 'a@b.example' });
  await sealTwoFactor(souk.database, box);
  const code = codesOf(souk, secret)();
  const given = { code, now: souk.clock.now(), session: Buffer.alloc(0) };
  expect(await confirmEnrolment(souk.database, createSecretBox(['newer']), accountId, given)).toHaveLength(
    10,
  );
});

describe('the operator', () => {
  /** Signs the operator in without a second factor, and turns it on. */
  async function enrolledOperator(souk: Souk) {
    await removeOperatorTwoFactor(souk.database);
    const operator = await enterToken(souk);
    const page = await operator.get('/admin/two-factor');
    expect(page.html).toContain('<svg');
    const secret = /name="secret" value="([A-Z2-7]{32})"/.exec(page.html)?.[1] ?? '';
    const codeNow = codesOf(souk, secret);
    const wrong = await operator.post('/admin/two-factor/on', { secret, code: '000000' });
    expect([wrong.status, wrong.html]).toEqual([400, expect.stringContaining(secret)]);
    const on = await operator.post('/admin/two-factor/on', { secret, code: codeNow() });
    const recovery = on.text.match(/[0-9a-f]{8}-[0-9a-f]{8}/g) ?? [];
    souk.clock.advance(30_000);
    return { operator, codeNow, recovery };
  }

  async function enterToken(souk: Souk): Promise<Visitor> {
    const visitor = stranger(souk);
    await visitor.get('/admin/sign-in');
    await visitor.post('/admin/sign-in', { token: TOKEN });
    return visitor;
  }

  const code = (visitor: Visitor, entered: string) =>
    visitor.post('/admin/sign-in/code', { code: entered, to: '/admin/storage' });

  test('a token alone does not sign in; a code or a recovery code after it does, each once', async ({
    souk,
  }) => {
    const { codeNow, recovery } = await enrolledOperator(souk);
    expect(new Set(recovery).size).toBe(10);
    const first = codeNow();
    for (const [path, entered] of [
      ['/admin/storage', first],
      ['/admin/sign-in/code', first],
      ['/admin/storage', recovery[0] ?? ''],
      ['/admin/sign-in/code', recovery[0] ?? ''],
    ] as const) {
      const visitor = await enterToken(souk);
      expect((await visitor.get('/admin')).path).toMatch(/^\/admin\/sign-in/);
      expect((await code(visitor, entered)).path).toBe(path);
    }
    expect(await readOperatorTwoFactor(souk.database)).toEqual({ isOn: true, recoveryCodes: 9 });
  });

  test('turning it on ends the sessions that were started without a code, except the one that turns it on', async ({
    souk,
  }) => {
    await removeOperatorTwoFactor(souk.database);
    const earlier = await enterToken(souk);
    expect((await earlier.get('/admin')).path).toBe('/admin');
    const { operator } = await enrolledOperator(souk);
    expect((await earlier.get('/admin')).path).toMatch(/^\/admin\/sign-in/);
    expect((await operator.get('/admin')).path).toBe('/admin');
  });

  test('the token in a header opens neither the console nor Bull Board, whose session still opens both', async ({
    souk,
  }) => {
    const ask = async (path: string) =>
      (await souk.clientOf('').raw(path, { headers: { authorization: `Bearer ${TOKEN}` } })).status;
    await removeOperatorTwoFactor(souk.database);
    expect([await ask('/admin'), await ask('/admin/queues')]).toEqual([200, 200]);
    const { operator } = await enrolledOperator(souk);
    expect([await ask('/admin'), await ask('/admin/queues')]).toEqual([303, 403]);
    expect(await ask('/admin/sign-in')).toBe(200);
    expect((await operator.get('/admin/queues')).status).toBe(200);
  });

  test('a code is accepted within five minutes of the token, and not without it', async ({ souk }) => {
    const { codeNow } = await enrolledOperator(souk);
    const late = await enterToken(souk);
    souk.clock.advance(300_000);
    expect((await code(late, codeNow())).path).toBe('/admin/sign-in');
    const forger = await enterToken(souk);
    forger.cookies.set('souk_pending', `9${forger.cookies.get('souk_pending') ?? ''}`);
    expect((await code(forger, codeNow())).path).toBe('/admin/sign-in');
    expect((await code(await enterToken(souk), codeNow())).path).toBe('/admin/storage');
  });

  test('a code turns it off', async ({ souk }) => {
    const { operator, codeNow } = await enrolledOperator(souk);
    await operator.get('/admin/two-factor');
    expect((await operator.post('/admin/two-factor/off', { code: '000000' })).status).toBe(400);
    expect((await operator.post('/admin/two-factor/off', { code: codeNow() })).text).toContain('Turn on');
    expect((await (await enterToken(souk)).get('/admin')).path).toBe('/admin');
  });

  test('its stored secret is sealed with the present key, and opens with it', async ({ souk }) => {
    const { codeNow } = await enrolledOperator(souk);
    const box = createSecretBox(['newer']);
    await sealOperatorTwoFactor(souk.database, box);
    const { rows } = await souk.database.query<{ secret: string }>('select secret from operator_two_factor');
    expect(rows[0]?.secret).toMatch(box.prefix ?? 'no key');
    const given = { code: codeNow(), now: souk.clock.now() };
    expect(await inTransaction(souk.database, (client) => verifyOperatorCode(client, box, given))).toBe(true);
  });

  // The last test of this file that enters codes of the operator.
  test('wrong codes are limited, and each is a refused sign-in of the audit log', async ({ souk }) => {
    const { codeNow } = await enrolledOperator(souk);
    const visitor = await enterToken(souk);
    await code(visitor, codeNow());
    souk.clock.advance(30_000);
    const guesser = await enterToken(souk);
    const statuses = [];
    for (let i = 0; i < 11; i += 1) statuses.push((await code(guesser, '000000')).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
    expect((await code(guesser, codeNow())).status).toBe(429);
    const { rows } = await souk.database.query(
      'select action, target from audit_log order by id desc limit 1',
    );
    expect(rows).toEqual([{ action: 'session.refused', target: 'code' }]);
  });
});
