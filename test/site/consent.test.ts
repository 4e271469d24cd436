import { describe, expect } from 'vitest';
import { createAccountOf } from '../../src/accounts/accounts.ts';
import { testAccountOf } from '../../src/accounts/authentication.ts';
import { createMailedReset } from '../../src/accounts/passwords.ts';
import { expectPage, memberOf, PAGES, PASSWORD, signedIn, signUp, staffOf } from '../support/customer.ts';
import { ALLOWED, ask, type Program, registerProgram } from '../support/oauth-program.ts';
import type { Souk } from '../support/souk.ts';
import { test as base } from '../support/souk-test.ts';
import { createVisitor, fieldIn, type VisitedPage, type Visitor } from '../support/visitor.ts';

/** A program that has registered itself. */
const test = base
  .override('soukOptions', ({ demo }) => ({
    workers: 0,
    testUrl: demo.url,
    pages: { ...PAGES, signUpsPerHour: 100 },
    mail: { from: '', publicUrl: 'http://souk.test', transport: 'console' as const },
    gateway: { connect: { allowPrivate: true, registrationsPerHour: 1_000 } },
  }))
  .extend('program', ({ souk }) => registerProgram(souk.clientOf('').baseUrl));

const stranger = (souk: Souk) => createVisitor(souk.clientOf('').baseUrl);

/** Sends a decision with the token of the page. */
function decide(visitor: Visitor, page: VisitedPage, fields: Record<string, string>): Promise<VisitedPage> {
  const _csrf = fieldIn(page.html, '_csrf');
  const sent = Object.entries({ _csrf, ...ALLOWED, ...fields }).filter(([, value]) => value !== '');
  return visitor.send(page.path, Object.fromEntries(sent));
}

/** The values that a form sends unchanged. */
function valuesIn(html: string): Record<string, string> {
  const inputs = [...html.matchAll(/<input [^>]*>/g)]
    .map(([tag]) => ({
      name: / name="([^"]+)"/.exec(tag)?.[1] ?? '',
      value: / value="([^"]*)"/.exec(tag)?.[1] ?? '',
      isSent: !/type="checkbox"/.test(tag) || / checked/.test(tag),
    }))
    .filter(({ name, isSent }) => isSent && name !== '' && name !== '_csrf' && name !== 'to')
    .map(({ name, value }) => [name, value]);
  const selects = [...html.matchAll(/<select [^>]*name="([^"]+)"[^>]*>(.*?)<\/select>/gs)].map(
    ([, name = '', options = '']) => [
      name,
      / selected value="([^"]*)"| value="([^"]*)" selected/.exec(options),
    ],
  ) as [string, RegExpExecArray | null][];
  return Object.fromEntries([
    ...inputs,
    ...selects.map(([name, found]) => [name, found?.[1] ?? found?.[2] ?? '']),
  ]);
}

async function keysOf({ database }: Souk, accountId: number) {
  const { rows } = await database.query(
    `select scopes, cap_day as "capDay", cap_month as "capMonth", expires_at as "expiresAt", person_id as "personId",
       c.client_name as client, c.redirect_host as host
     from api_keys k join connections c on c.key_id = k.id where account_id = $1`,
    [accountId],
  );
  return rows;
}

describe('the consent page', () => {
  test('names who asks, where the browser returns, and what is asked for', async ({ souk, program }) => {
    const { visitor, accountId } = await signedIn(souk);
    const page = await program.begin(visitor);
    expect(page.text).toContain('Notebook asks to use your Souk account. You return to 127.0.0.1');
    expect(page.text).toContain('The program calls itself “Notebook”; Souk has not checked the name');
    expect(valuesIn(page.html)).toEqual({
      account: String(accountId),
      data: 'live',
      calls: '1',
      capDay: '100',
      capMonth: '1000',
      days: '30',
    });
    expect(page.text).not.toContain('webhook');
    expect(page.headers['content-security-policy']).toContain(
      "form-action 'self' http://127.0.0.1:33418; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(page.headers['x-frame-options']).toBe('DENY');
  });

  test('has boxes for what the program asks for, and no further scopes behind them', async ({
    souk,
    program,
  }) => {
    const { visitor, accountId } = await signedIn(souk);
    const page = await program.begin(visitor, { scope: 'read products deals schedules webhooks' });
    expect(page.text).toContain('Look up products and deals, which spends units');
    expect(page.text).toContain('Create schedules');
    const values = valuesIn(page.html);
    expect(values).toMatchObject({ calls: '1', automation: '1', webhooks: '1' });
    const { webhooks: _, ...others } = values;
    await program.decide(visitor, page, { ...others, decision: 'allow' });
    expect(await keysOf(souk, accountId)).toMatchObject([
      { scopes: ['read', 'products', 'deals', 'schedules'] },
    ]);
  });

  test('lets the person grant more than is asked for, and gives the connection what was chosen', async ({
    souk,
    program,
  }) => {
    const { visitor, accountId, personId } = await signedIn(souk);
    const page = await program.begin(visitor, { scope: 'read trends' });
    const fields = { account: String(accountId), automation: '1', capDay: '7', capMonth: '70', days: '1' };
    await program.decide(visitor, page, { ...ALLOWED, ...fields });
    expect(await keysOf(souk, accountId)).toEqual([
      {
        scopes: ['read', 'trends', 'batches', 'schedules', 'trackers'],
        capDay: 7,
        capMonth: 70,
        expiresAt: new Date(souk.clock.now() + 86_400_000),
        personId,
        client: 'Notebook',
        host: '127.0.0.1:33418',
      },
    ]);
  });

  test('proposes test data for an account without units, and connects its test account', async ({
    souk,
    program,
  }) => {
    const { visitor, accountId } = await signedIn(souk, { plan: null });
    const page = await program.begin(visitor);
    expect(page.text).toContain('Calls for live data are refused until the account has a plan or pack');
    const values = valuesIn(page.html);
    expect(values.data).toBe('test');
    await program.decide(visitor, page, { ...values, decision: 'allow' });
    expect(await keysOf(souk, accountId)).toEqual([]);
    expect(await keysOf(souk, testAccountOf(accountId))).toHaveLength(1);
  });

  test('returns to the program with access_denied after Cancel, even if its fields are invalid', async ({
    souk,
    program,
  }) => {
    const { visitor, accountId } = await signedIn(souk);
    const page = await program.begin(visitor);
    const address = await program.decide(visitor, page, { decision: 'deny', capDay: 'x' });
    expect(address.origin).toBe('http://127.0.0.1:33418');
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      error: 'access_denied',
      error_description: 'The person has refused.',
      state: 'xyz',
    });
    expect(await keysOf(souk, accountId)).toEqual([]);
  });

  test('denies a program if the person allows none of the requested scopes', async ({ souk, program }) => {
    const { visitor, accountId } = await signedIn(souk);
    const page = await program.begin(visitor, { scope: 'webhooks' });
    const fields = { ...ALLOWED, account: String(accountId) };
    const address = await program.decide(visitor, page, fields);
    expect(address.searchParams.get('error_description')).toBe(
      'The person allowed none of the requested scopes.',
    );
    expect(await keysOf(souk, accountId)).toEqual([]);
  });

  test.for([
    [{ capDay: '200', capMonth: '100' }, 'must not be more than the units of a month'],
    [{ capDay: '0' }, 'must be at least 1'],
    [{ capDay: '1.5' }, 'must be a whole number'],
    [{ capMonth: 'many' }, 'must be a number'],
    [{ capMonth: '1e12' }, 'must be at most 1,000,000,000'],
    [{ days: '366' }, 'must be 1, 7, 30, 90 or 365'],
    [{ calls: '', automation: '1' }, 'requires looking up data'],
    [{ data: 'other' }, 'must be live or test'],
    [{ account: '999999' }, 'must be an account to which you may connect programs'],
    [{ account: 'x' }, 'must be one of your accounts'],
  ] as const)(
    'shows the fault of %j at its field, and keeps the values',
    async ([fields, fault], { souk, program }) => {
      const { visitor, accountId } = await signedIn(souk);
      const page = await program.begin(visitor);
      const given = { account: String(accountId), capMonth: '1234', ...fields };
      const answer = await decide(visitor, page, given);
      expect(answer.status).toBe(fault.startsWith('must be an account') ? 403 : 400);
      expect(answer.text).toContain(fault);
      expect(valuesIn(answer.html).capMonth).toBe(given.capMonth);
      expect(await keysOf(souk, accountId)).toEqual([]);
    },
  );
});

describe('a connection', () => {
  test.for(['viewer', 'billing'] as const)(
    'is not for the role %s, whose page says what to do',
    async (role, { souk, program }) => {
      const owner = await signedIn(souk);
      const { visitor } = await memberOf(souk, owner.accountId, role);
      const page = await program.begin(visitor);
      expect(page.text).toContain('that requires an owner, admin or developer');
      expect(page.html).toContain('href="/profile"');
      expect((await decide(visitor, page, { account: String(owner.accountId) })).status).toBe(403);
      const address = await program.decide(visitor, page, { decision: 'deny' });
      expect(address.searchParams.get('error')).toBe('access_denied');
      expect(await keysOf(souk, owner.accountId)).toEqual([]);
    },
  );

  test('is for developers, and for one of several accounts', async ({ souk, program }) => {
    const owner = await signedIn(souk);
    const { visitor } = await memberOf(souk, owner.accountId, 'developer');
    await program.connect(visitor, { account: String(owner.accountId) });
    const second = await createAccountOf(souk.database, owner.personId, 'Second', souk.clock.now());
    const page = await program.begin(owner.visitor);
    expect(page.text).toContain('Second (no plan or pack)');
    await program.decide(owner.visitor, page, { ...ALLOWED, account: String(second) });
    expect(
      [await keysOf(souk, owner.accountId), await keysOf(souk, second)].map(({ length }) => length),
    ).toEqual([1, 1]);
  });

  test('is not for the account of others, a disabled account, or staff', async ({ souk, program }) => {
    const other = await signedIn(souk);
    const { visitor, accountId } = await signedIn(souk);
    const refuse = async (by: Visitor, account: number) => {
      const page = await program.begin(by);
      expect((await decide(by, page, { account: String(account) })).status).toBe(403);
      expect(await keysOf(souk, account)).toEqual([]);
      return page;
    };
    await refuse(visitor, other.accountId);
    const { visitor: staff } = await staffOf(souk);
    expect((await refuse(staff, accountId)).text).toContain('You have no account');
    await souk.database.query("update accounts set state = 'disabled' where id = $1", [accountId]);
    await refuse(visitor, accountId);
  });
});

describe('a decision', () => {
  test('needs a token of the browser', async ({ souk, program }) => {
    const { visitor, accountId } = await signedIn(souk);
    const page = await program.begin(visitor);
    const fields = { ...ALLOWED, account: String(accountId) };
    const other = await signedIn(souk);
    const theirs = await other.visitor.get('/profile');
    const _csrf = fieldIn(theirs.html, '_csrf');
    for (const forged of [{}, { _csrf: 'x' }, { _csrf }])
      expect((await visitor.send(page.path, { ...forged, ...fields })).status).toBe(403);
    expect(await keysOf(souk, accountId)).toEqual([]);
  });

  test('is for the browser in which the program has asked', async ({ souk, program }) => {
    const { path } = await program.begin((await signedIn(souk)).visitor);
    const victim = await signedIn(souk);
    const page = await victim.visitor.get(path);
    expectPage(page, 404, 'This request has expired');
    const shown = await victim.visitor.get('/profile');
    const answer = await decide(victim.visitor, { ...shown, path }, { account: String(victim.accountId) });
    expect(answer.status).toBe(404);
    expect(await keysOf(souk, victim.accountId)).toEqual([]);
  });

  test('waits for a session that has ended meanwhile', async ({ souk, program }) => {
    const { visitor } = await signedIn(souk);
    const page = await program.begin(visitor);
    await souk.database.query('delete from web_sessions');
    const answer = await decide(visitor, page, {});
    expect([answer.status, answer.headers.location]).toEqual([
      303,
      `/sign-in?to=${encodeURIComponent(page.path)}`,
    ]);
  });
});

/** Opens the sign-in page to which the consent leads a stranger. */
async function atSignIn(souk: Souk, program: Program) {
  const visitor = stranger(souk);
  const page = await program.begin(visitor);
  expect(page.path).toMatch(/^\/sign-in\?to=%2Fconnect%2F/);
  expect(page.text).toContain('A program asks to use your Souk account.');
  const to = decodeURIComponent(page.path.split('to=')[1] ?? '');
  return { visitor, page, to };
}

describe('somebody who is not signed in', () => {
  test('signs up, and returns to the consent', async ({ souk, program }) => {
    const { visitor, page } = await atSignIn(souk, program);
    const [, link = ''] = /href="(\/sign-up[^"]+)"/.exec(page.html) ?? [];
    const form = await visitor.get(link);
    const to = fieldIn(form.html, 'to');
    const email = `new-${Math.random().toString(36).slice(2)}@person.example`;
    const consent = await visitor.post('/sign-up', { email, name: 'New', password: PASSWORD, to });
    expect(consent.path).toBe(to);
    expect(consent.text).toContain(`Signed in as ${email}`);
    const values = valuesIn(consent.html);
    const address = await program.decide(visitor, consent, { ...values, decision: 'allow' });
    expect(address.searchParams.get('code')).toMatch(/^[\w-]{43}$/);
  });

  test('signs in, and returns to the consent; another profile can be used instead', async ({
    souk,
    program,
  }) => {
    const email = `ann-${Math.random().toString(36).slice(2)}@person.example`;
    await signUp(souk, email);
    const { visitor, to } = await atSignIn(souk, program);
    const consent = await visitor.post('/sign-in', { email, password: PASSWORD, to });
    expect([consent.path, consent.status]).toEqual([to, 200]);
    const again = await visitor.post('/sign-out', { to });
    expect(again.path).toBe(`/sign-in?to=${encodeURIComponent(to)}`);
    expect((await visitor.post('/sign-out', { to: 'https://elsewhere.example/' })).path).toBe('/sign-in');
  });

  test('sets a new password by a mailed link, and returns to the consent', async ({ souk, program }) => {
    const email = `forgetful-${Math.random().toString(36).slice(2)}@person.example`;
    await signUp(souk, email);
    const { visitor, page, to } = await atSignIn(souk, program);
    const [, link = ''] = /href="(\/forgot-password[^"]+)"/.exec(page.html) ?? [];
    const form = await visitor.get(link);
    expect(form.html).toContain(`name="to" value="${to}"`);
    await visitor.post('/forgot-password', { email, to });
    const token = await createMailedReset(souk.database, email, souk.clock.now());
    await visitor.get(`/reset-password?token=${token}`);
    const password = 'another long password';
    const signIn = await visitor.post('/reset-password', { token: String(token), password });
    expect(signIn.path).toBe(`/sign-in?to=${encodeURIComponent(to)}`);
    expect((await visitor.post('/sign-in', { email, password, to })).path).toBe(to);
  });
});

test('a device is allowed on the same page, without an address of return', async ({ souk }) => {
  const { baseUrl } = souk.clientOf('');
  const { visitor, accountId } = await signedIn(souk);
  const form = new URLSearchParams({ client_id: 'souk-command', scope: 'read products' });
  const { body: begun } = await ask(`${baseUrl}/oauth/device`, form);
  const code = await visitor.get('/device');
  const send = (page: VisitedPage, fields: Record<string, string>) => {
    const xsrf = fieldIn(page.html, 'xsrf');
    return visitor.send('/device', { xsrf, ...fields });
  };
  expect((await send(code, { user_code: 'WRONG' })).text).toContain('Unknown code.');
  const confirm = await send(await visitor.get('/device'), { user_code: begun.user_code });
  expect(confirm.text).toContain(`Check that Souk command shows this code: ${begun.user_code}`);
  const next = await send(confirm, { user_code: begun.user_code, confirm: 'yes' });
  const consent = await visitor.get(new URL(String(next.headers.location), baseUrl).pathname);
  expect(consent.text).toContain('Souk command asks to use your Souk account. You return to your device.');
  const allowed = await decide(visitor, consent, { account: String(accountId) });
  const done = await visitor.get(new URL(String(allowed.headers.location), baseUrl).pathname);
  expect(done.text).toContain('Souk command is connected. Close this page');
  expect(await keysOf(souk, accountId)).toMatchObject([{ client: 'Souk command', host: null }]);
});

test.for([
  ['client_id=unknown&response_type=code', 'The program is not registered here'],
  [
    'client_id=ID&redirect_uri=https://other.example/&response_type=code',
    'has not registered. Nothing was allowed.',
  ],
] as const)('the page of a wrong request (%s) says what to do', async ([query, text], { souk, program }) => {
  const page = await stranger(souk).get(`/oauth/authorize?${query.replace('ID', program.clientId)}`);
  expectPage(page, 400, text);
});

test.for([
  ['GET', '/device/unknown', 'This request has expired'],
  ['POST', '/device', 'The page was open for too long, or its cookie is missing.'],
] as const)('%s %s without its cookie shows how to start again', async ([method, path, text], { souk }) => {
  const visitor = stranger(souk);
  const page = await (method === 'GET' ? visitor.open(path) : visitor.send(path, { user_code: 'BBBB-CCCC' }));
  expectPage(page, 400, text);
});
