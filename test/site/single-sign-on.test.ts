import { afterAll, beforeEach, describe, expect } from 'vitest';
import { createOpenId, OpenIdFailed, type OpenIdSettings } from '../../src/accounts/openid.ts';
import { confirmEmail, findPersonByEmail } from '../../src/accounts/people.ts';
import { beginSession, SESSION_COOKIE } from '../../src/accounts/sessions.ts';
import { systemClock } from '../../src/platform/clock.ts';
import {
  accountOf,
  expectPage,
  join,
  ownerOf,
  PAGES,
  signedIn,
  signUp,
  staffOf,
  visitorOf,
} from '../support/customer.ts';
import { ALLOWED, registerProgram } from '../support/oauth-program.ts';
import { CLIENT, ID_TOKEN_SECONDS, openOpenIdProvider } from '../support/openid-provider.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { createVisitor, fieldIn, type VisitedPage, type Visitor } from '../support/visitor.ts';

const PUBLIC_URL = 'http://souk.test';

const provider = await openOpenIdProvider(`${PUBLIC_URL}/sign-in/openid/callback`);
afterAll(() => provider.close());

const DEFAULTS: OpenIdSettings = {
  issuer: provider.issuer,
  ...CLIENT,
  name: 'Example ID',
  allowedDomains: [],
  hasNewPeople: true,
  roleClaim: null,
};

/** The settings of the service, which tests change. */
const settings = { ...DEFAULTS };

test.override('soukOptions', {
  workers: 0,
  pages: { ...PAGES, publicUrl: PUBLIC_URL, openId: settings, signUpsPerHour: 100 },
  mail: { from: 'souk@souk.test', publicUrl: PUBLIC_URL, transport: 'console' },
  operator: { adminToken: 'only-for-the-operator' },
});

beforeEach(() => {
  Object.assign(settings, DEFAULTS);
});

/** The provider has the time of this machine. */
function setClock(souk: Souk, aheadMs = 0): void {
  souk.clock.advance(systemClock.now() + aheadMs - souk.clock.now());
}

const stranger = (souk: Souk) => {
  setClock(souk);
  return createVisitor(souk.clientOf('').baseUrl);
};

let number = 0;

/** Somebody whom the provider knows, with a verified address. */
function newcomer(claims: Record<string, unknown> = {}) {
  number += 1;
  const [subject, email] = [`subject-${number}`, `person-${number}@company.example`];
  provider.people.set(subject, { email, email_verified: true, name: `Person ${number}`, ...claims });
  return { subject, email };
}

const START = '/sign-in/openid';

/** Goes to the provider and signs in there. @returns the path to which the provider sends the browser back. */
async function atProvider(visitor: Visitor, subject: string, start = START): Promise<string> {
  const { status, headers } = await visitor.open(start);
  expect(status).toBe(303);
  const { pathname, search } = await provider.signIn(String(headers.location), subject);
  return `${pathname}${search}`;
}

const signIn = async (visitor: Visitor, subject: string, start = START): Promise<VisitedPage> =>
  visitor.get(await atProvider(visitor, subject, start));

/** Signs up by password. */
async function signedUp(souk: Souk, email: string, isConfirmed: boolean): Promise<number> {
  await signUp(souk, email, { visitor: stranger(souk) });
  const { id = 0 } = (await findPersonByEmail(souk.database, email)) ?? {};
  if (isConfirmed) await confirmEmail(souk.database, id, souk.clock.now());
  return id;
}

describe('a person whom the provider has signed in', () => {
  test('gets a profile with a confirmed address and an account, and finds them again', async ({ souk }) => {
    const { subject, email } = newcomer();
    const visitor = stranger(souk);
    expect((await visitor.get('/sign-up')).text).toContain('Sign in with Example ID');
    const page = await signIn(visitor, subject, `${START}?to=${encodeURIComponent('/account/keys?a=1')}`);
    expect(page.path).toBe('/account/keys?a=1');
    const person = await findPersonByEmail(souk.database, email);
    expect(person).toMatchObject({ name: expect.stringMatching(/^Person/), installationRole: null });
    expect(person?.emailConfirmedAt).not.toBeNull();
    const again = stranger(souk);
    await signIn(again, subject);
    expect((await again.get('/profile')).text).toContain(email);
    expect(await findPersonByEmail(souk.database, email)).toEqual(person);
  });

  test('gets none without OIDC_NEW_PEOPLE', async ({ souk }) => {
    settings.hasNewPeople = false;
    const { subject, email } = newcomer();
    const page = await signIn(stranger(souk), subject);
    expectPage(page, 403, 'has no profile here');
    expect(await findPersonByEmail(souk.database, email)).toBeNull();
  });

  test('is linked to the profile with the address, if it is confirmed', async ({ souk }) => {
    settings.hasNewPeople = false;
    const { subject, email } = newcomer();
    const personId = await signedUp(souk, email, true);
    const visitor = stranger(souk);
    expect((await signIn(visitor, subject)).path).toBe('/account');
    expect((await findPersonByEmail(souk.database, email))?.id).toBe(personId);
    const { rows } = await souk.database.query(
      "select action from audit_log where person_id = $1 and action like 'person.%' order by id",
      [personId],
    );
    expect(rows.map(({ action }) => action)).toEqual(['person.identity-linked', 'person.signed-in']);
  });

  test('is not linked to a profile whose address was never confirmed', async ({ souk }) => {
    const { subject, email } = newcomer();
    await signedUp(souk, email, false);
    const visitor = stranger(souk);
    const page = await signIn(visitor, subject);
    expectPage(page, 409, 'confirm the address first');
    expect((await visitor.get('/account')).path).toMatch(/^\/sign-in/);
  });

  test('is not linked to the profile of another identity with the same address', async ({ souk }) => {
    const { subject, email } = newcomer();
    await signIn(stranger(souk), subject);
    const other = newcomer({ email });
    expectPage(await signIn(stranger(souk), other.subject), 409, 'is linked with another identity');
  });

  test('is refused with an address that the provider has not verified', async ({ souk }) => {
    for (const email_verified of [false, 'true', undefined]) {
      const { subject, email } = newcomer({ email_verified });
      expectPage(await signIn(stranger(souk), subject), 403, 'has not verified your e-mail address');
      expect(await findPersonByEmail(souk.database, email)).toBeNull();
    }
  });

  test('is refused with an address of another domain, even after an earlier sign-in', async ({ souk }) => {
    settings.allowedDomains = ['company.example'];
    const { subject } = newcomer();
    expect((await signIn(stranger(souk), subject)).status).toBe(200);
    for (const claims of [
      { email: 'a@other.example', email_verified: true },
      { email: 'a@not-company.example', email_verified: true },
      { email: 'a@company.example', email_verified: false },
    ]) {
      provider.people.set(subject, claims);
      expectPage(await signIn(stranger(souk), subject), 403, 'accepts addresses of company.example');
    }
  });

  test('sees the profile, but no account, if all accounts of the person are disabled', async ({ souk }) => {
    const { subject, email } = newcomer();
    await signIn(stranger(souk), subject);
    await souk.database.query(
      `update accounts set state = 'disabled' where id in (select account_id from account_owners where email = $1)`,
      [email],
    );
    const visitor = stranger(souk);
    expectPage(await signIn(visitor, subject), 403, 'This account is disabled');
    expect((await visitor.get('/profile')).text).toContain(email);
  });
});

describe('an address that changes at the provider', () => {
  test('changes that of the person, who stays the same', async ({ souk }) => {
    const { subject, email } = newcomer();
    await signIn(stranger(souk), subject);
    const before = await findPersonByEmail(souk.database, email);
    provider.people.set(subject, { email: `New-${email}`, email_verified: true });
    await signIn(stranger(souk), subject);
    expect((await findPersonByEmail(souk.database, `new-${email}`))?.id).toBe(before?.id);
    expect(await findPersonByEmail(souk.database, email)).toBeNull();
  });

  test.for(['taken', 'unverified'])('is ignored if it is %s', async (kind, { souk }) => {
    const { subject, email } = newcomer();
    await signIn(stranger(souk), subject);
    const taken = `${kind}-${email}`;
    if (kind === 'taken') await signedUp(souk, taken, true);
    provider.people.set(subject, { email: taken, email_verified: kind === 'taken' });
    const visitor = stranger(souk);
    await signIn(visitor, subject);
    expect((await visitor.get('/profile')).text).toContain(`E-mail address ${email} Name`);
  });
});

describe('an answer of the provider is refused', () => {
  const SPENT = 'was used before, has expired or began in another browser';

  test('the second time', async ({ souk }) => {
    const visitor = stranger(souk);
    const callback = await atProvider(visitor, newcomer().subject);
    const cookies = new Map(visitor.cookies);
    expect((await visitor.get(callback)).path).toBe('/account');
    expectPage(await visitor.get(callback), 400, SPENT);
    // With the cookie again, the provider refuses the code.
    const thief = stranger(souk);
    for (const [name, value] of cookies) thief.cookies.set(name, value);
    expectPage(await thief.get(callback), 400, SPENT);
    expect((await thief.get('/account')).path).toMatch(/^\/sign-in/);
  });

  test('in another browser, so that no visitor is signed in as somebody else', async ({ souk }) => {
    const callback = await atProvider(stranger(souk), newcomer().subject);
    const victim = stranger(souk);
    expectPage(await victim.get(callback), 400, SPENT);
    await atProvider(victim, newcomer().subject);
    const requests = provider.tokenRequests;
    expectPage(await victim.get(callback), 400, SPENT);
    expect(provider.tokenRequests).toBe(requests);
  });

  test('with another issuer, or none', async ({ souk }) => {
    for (const change of [
      (query: URLSearchParams) => query.set('iss', 'https://attacker.example'),
      (query: URLSearchParams) => query.delete('iss'),
    ]) {
      const visitor = stranger(souk);
      const callback = new URL(await atProvider(visitor, newcomer().subject), PUBLIC_URL);
      change(callback.searchParams);
      const requests = provider.tokenRequests;
      expectPage(await visitor.get(`${callback.pathname}${callback.search}`), 400, SPENT);
      expect(provider.tokenRequests).toBe(requests);
    }
  });

  test('after ten minutes', async ({ souk }) => {
    const visitor = stranger(souk);
    const callback = await atProvider(visitor, newcomer().subject);
    setClock(souk, 601_000);
    expectPage(await visitor.get(callback), 400, SPENT);
  });

  test.for([
    ['behind', 300_000],
    ['ahead', -300_000],
  ] as const)('if its clock is five minutes %s', async ([, soukAheadMs], { souk }) => {
    const visitor = stranger(souk);
    setClock(souk, soukAheadMs);
    const page = await signIn(visitor, newcomer().subject);
    expectPage(page, 503, 'The clock of Example ID differs');
    expect(ID_TOKEN_SECONDS * 1000).toBeLessThan(300_000);
  });

  test('if it has not signed the visitor in', async ({ souk }) => {
    const page = await signIn(stranger(souk), '');
    expectPage(page, 403, 'did not sign you in');
  });

  test('with a cookie that was made up', async ({ souk }) => {
    for (const cookie of ['', '{}', 'sealed:00000000:AAAA']) {
      const visitor = stranger(souk);
      visitor.cookies.set('souk_openid', encodeURIComponent(cookie));
      expect((await visitor.get(`${START}/callback?code=a&state=b`)).status).toBe(400);
    }
  });

  test.for([
    ['30 seconds ahead', -30_000],
    ['30 seconds behind', 30_000],
  ] as const)('but not if its clock is %s', async ([, soukAheadMs], { souk }) => {
    const visitor = stranger(souk);
    setClock(souk, soukAheadMs);
    expect((await signIn(visitor, newcomer().subject)).path).toBe('/account');
  });
});

test('a provider that is down or names another issuer gives a sentence, and the service starts without it', async ({
  openAnother,
}) => {
  const other = await openOpenIdProvider(PUBLIC_URL);
  await other.close();
  const souk = await openAnother({
    workers: 0,
    pages: { ...PAGES, publicUrl: PUBLIC_URL, openId: { ...DEFAULTS, issuer: other.issuer } },
  });
  const page = await stranger(souk).get(`${START}?to=%2Faccount%2Fkeys`);
  expectPage(page, 503, 'does not answer as it should');
  expect(page.html).toContain('name="password"');
  const wrong = provider.issuer.replace('127.0.0.1', 'localhost');
  await expect(
    createOpenId({ ...DEFAULTS, issuer: wrong }, souk.clock).begin(PUBLIC_URL, '/account'),
  ).rejects.toThrow(OpenIdFailed);
});

test('after signing in, a browser goes to a path of this site only', async ({ souk }) => {
  for (const to of [
    'https://attacker.example/account',
    '//attacker.example',
    '/sign-out',
    '/\\attacker.example',
  ]) {
    const visitor = stranger(souk);
    const callback = await atProvider(visitor, newcomer().subject, `${START}?to=${encodeURIComponent(to)}`);
    expect((await visitor.open(callback)).headers.location).toBe('/account');
  }
});

test('a sign-in ends the session before it, and has a new token', async ({ souk }) => {
  const customer = await signedIn(souk);
  setClock(souk);
  const { visitor, cookie } = { ...(await visitorOf(souk, customer.personId)) };
  const { subject } = newcomer();
  expect((await visitor.open(START)).status).toBe(200);
  await signIn(visitor, subject, `${START}?to=%2Faccount&continue=1`);
  expect(visitor.cookies.get(cookie.name)).not.toBe(cookie.value);
  const earlier = stranger(souk);
  earlier.cookies.set(cookie.name, cookie.value);
  expect((await earlier.get('/account')).path).toMatch(/^\/sign-in/);
});

test('a second factor of Souk is not asked for', async ({ souk }) => {
  const { subject, email } = newcomer();
  const personId = await signedUp(souk, email, true);
  await souk.database.query(
    `insert into two_factor (person_id, secret, confirmed_at) values ($1, 'JBSWY3DPEHPK3PXP', now())`,
    [personId],
  );
  expect((await signIn(stranger(souk), subject)).path).toBe('/account');
});

test('a person is informed of a sign-in in a browser that is not known', async ({ souk }) => {
  const { subject, email } = newcomer();
  const visitor = stranger(souk);
  const mails = async () => {
    const person = await findPersonByEmail(souk.database, email);
    const { rowCount } = await souk.database.query(
      `select from outbox where channel = 'mail' and kind = 'new_sign_in' and person_id = $1`,
      [person?.id],
    );
    return rowCount;
  };
  await signIn(visitor, subject);
  expect(await mails()).toBe(1);
  await signIn(visitor, subject);
  expect(await mails()).toBe(1);
  await signIn(stranger(souk), subject);
  expect(await mails()).toBe(2);
});

test('attempts that fail are limited for each network, and those that succeed are not counted', async ({
  ownSouk,
}) => {
  const visitor = stranger(ownSouk);
  const { subject } = newcomer();
  for (let n = 0; n < 3; n++) await signIn(visitor, subject);
  const failures = Array.from({ length: 40 }, () => visitor.get(`${START}/callback?code=a&state=b`));
  expect((await Promise.all(failures)).map(({ status }) => status)).toEqual(Array(40).fill(400));
  const page = await visitor.get(`${START}/callback?code=a&state=b`);
  expectPage(page, 429, 'Too many attempts');
});

describe('an account that requires single sign-on', () => {
  const SETTINGS = '/account/settings';
  const SWITCH = `${SETTINGS}/single-sign-on`;

  /** An account whose owner has signed in through the provider and required it. */
  async function requiring(souk: Souk) {
    const { subject, email } = newcomer();
    const owner = stranger(souk);
    await signIn(owner, subject);
    await owner.get(SETTINGS);
    expect((await owner.post(`${SWITCH}/require`, {})).text).toContain(
      'only after signing in with Example ID',
    );
    const person = await findPersonByEmail(souk.database, email);
    return { owner, email, personId: person?.id ?? 0, accountId: await accountOf(souk.database, email) };
  }

  test('is switched on by an owner or admin who has signed in by it', async ({ souk }) => {
    const { visitor, accountId } = await signedIn(souk);
    setClock(souk);
    const page = await visitor.get(SETTINGS);
    expect(page.text).toContain('sign in with Example ID yourself first');
    const back = encodeURIComponent(`/account/${accountId}/settings`);
    expect(page.sentHtml).toContain(`href="${START}?to=${back}&amp;continue=1"`);
    expect((await visitor.post(`${SWITCH}/require`, {})).status).toBe(403);
    const { owner, personId } = await requiring(souk);
    await join(souk, { accountId, personId, role: 'viewer' });
    await owner.get(`/account/${accountId}/settings`);
    expect((await owner.post(`${SWITCH}/require`, {})).status).toBe(403);
  });

  test('sends a session by password to the provider, and back', async ({ souk }) => {
    const { accountId, personId } = await requiring(souk);
    const { visitor } = await visitorOf(souk, personId);
    const page = await visitor.get(`/account/${accountId}/keys`);
    expect(page.address).toBe(`${START}?to=${encodeURIComponent(`/account/${accountId}/keys`)}`);
    expect(page.text).toContain('You have signed in with a password');
    const [, next = ''] = /href="(\/sign-in\/openid[^"]*continue=1)"/.exec(page.html) ?? [];
    const subject = [...provider.people.keys()].at(-1) ?? '';
    const back = await signIn(visitor, subject, next.replaceAll('&amp;', '&'));
    expect(back).toMatchObject({ status: 200, address: `/account/${accountId}/keys` });
  });

  test('refuses forms of a session by password, and ends the key of its pages', async ({ souk }) => {
    const { subject, email } = newcomer();
    const personId = await signedUp(souk, email, true);
    const { visitor } = await visitorOf(souk, personId);
    await visitor.get('/account/keys');
    const pageKeys = async () => {
      const { rowCount } = await souk.database.query(
        `select from api_keys k join web_sessions s on s.token_hash = k.session
         where s.person_id = $1 and not s.is_sso`,
        [personId],
      );
      return rowCount;
    };
    // Those of the sign-up, and of this session.
    expect(await pageKeys()).toBe(2);
    const owner = stranger(souk);
    await signIn(owner, subject);
    await owner.get(SETTINGS);
    await owner.post(`${SWITCH}/require`, {});
    expect(await pageKeys()).toBe(0);
    expect((await visitor.post(`${SWITCH}/release`, {})).status).toBe(403);
    expect((await owner.get(SETTINGS)).text).toContain('only after signing in');
    await owner.post(`${SWITCH}/release`, {});
    expect((await visitor.get('/account/keys')).status).toBe(200);
  });

  test('serves API keys and people of the installation as before', async ({ souk }) => {
    const { accountId, key } = await souk.account();
    await souk.database.query('update accounts set sso_required = true where id = $1', [accountId]);
    expect((await souk.clientOf(key).get('/api/quota')).status).toBe(200);
    setClock(souk);
    const { visitor } = await staffOf(souk, 'support');
    expect((await visitor.get(`/account/${accountId}`)).text).toContain('for the operator');
    const owner = await visitorOf(souk, await ownerOf(souk.database, accountId));
    expect((await owner.visitor.get(`/account/${accountId}`)).address).toMatch(/^\/sign-in\/openid/);
  });
});

describe('a claim that gives roles in the installation', () => {
  const roleOf = async (souk: Souk, email: string) =>
    (await findPersonByEmail(souk.database, email))?.installationRole;

  test('sets the role at each sign-in, and takes it away', async ({ souk }) => {
    settings.roleClaim = 'groups';
    const { subject, email } = newcomer({ groups: ['staff', 'observer', 'support'] });
    const visitor = stranger(souk);
    await signIn(visitor, subject);
    expect(await roleOf(souk, email)).toBe('support');
    expect((await visitor.get('/admin')).status).toBe(200);
    const { rows } = await souk.database.query(
      `select operator, after from audit_log where action = 'staff.changed' order by id desc limit 1`,
    );
    expect(rows).toEqual([{ operator: 'single sign-on', after: { role: 'support' } }]);
    provider.people.set(subject, { email, email_verified: true, groups: 'observer' });
    await signIn(stranger(souk), subject);
    expect(await roleOf(souk, email)).toBe('observer');
    provider.people.set(subject, { email, email_verified: true, groups: ['Operator'] });
    await signIn(stranger(souk), subject);
    expect(await roleOf(souk, email)).toBeNull();
    // The role ended with the sessions of the person.
    expect((await visitor.get('/admin')).path).toMatch(/^\/sign-in/);
  });

  test('leaves a role of the console as it is, unless it names one', async ({ souk }) => {
    settings.roleClaim = 'groups';
    const { subject, email } = newcomer();
    await signIn(stranger(souk), subject);
    await souk.database.query(`update people set installation_role = 'finance' where email = $1`, [email]);
    await signIn(stranger(souk), subject);
    expect(await roleOf(souk, email)).toBe('finance');
  });

  test('is ignored unless a setting names it', async ({ souk }) => {
    const { subject, email } = newcomer({ groups: ['operator'] });
    await signIn(stranger(souk), subject);
    expect(await roleOf(souk, email)).toBeNull();
  });
});

describe('a program that asks for a connection', () => {
  /** Opens its consent. The address of this service is that of its settings. */
  async function begin(souk: Souk, visitor: Visitor): Promise<VisitedPage> {
    const { baseUrl } = souk.clientOf('');
    const program = await registerProgram(baseUrl);
    return program.begin(visitor, { resource: undefined });
  }

  test('is decided on after a sign-in through the provider', async ({ souk }) => {
    const { subject, email } = newcomer();
    const visitor = stranger(souk);
    const page = await begin(souk, visitor);
    const to = fieldIn(page.html, 'to');
    expect(to).toMatch(/^\/connect\//);
    const [, start = ''] = /href="(\/sign-in\/openid[^"]+)"/.exec(page.html) ?? [];
    const consent = await signIn(visitor, subject, start);
    expect(consent.path).toBe(to);
    expect(consent.text).toContain(`Signed in as ${email}`);
  });

  test('gets an account that requires single sign-on only from such a session', async ({ souk }) => {
    setClock(souk);
    const { accountId, personId, visitor } = await signedIn(souk);
    await souk.database.query('update accounts set sso_required = true where id = $1', [accountId]);
    const page = await begin(souk, visitor);
    expect(page.text).toContain('requires single sign-on. To connect a program there, sign in through it');
    expect(page.html).toContain(`href="/sign-in/openid?to=${encodeURIComponent(page.path)}"`);
    expect(page.html).not.toContain('name="account"');
    const decide = (by: Visitor, { path, html }: VisitedPage) => {
      const _csrf = fieldIn(html, '_csrf');
      return by.send(path, { _csrf, ...ALLOWED, account: String(accountId) });
    };
    expect((await decide(visitor, page)).status).toBe(403);
    const token = await beginSession(souk.database, { personId, isSso: true }, souk.clock.now());
    const other = createVisitor(souk.clientOf('').baseUrl);
    other.cookies.set(SESSION_COOKIE, token);
    const consent = await begin(souk, other);
    expect(consent.html).toContain(`value="${accountId}"`);
    expect((await decide(other, consent)).status).toBe(303);
  });
});
