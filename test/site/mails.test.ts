import type { Email } from 'postal-mime';
import { beforeEach, describe, expect } from 'vitest';
import { createMailedReset } from '../../src/accounts/passwords.ts';
import { ensureStandardPlans } from '../../src/billing/standard-plans.ts';
import { setTopicsOff, topicsOff, unsubscribeToken } from '../../src/outbox/mail/choices.ts';
import { queueMail } from '../../src/outbox/mail/mails.ts';
import { accountOf, expectPage, ownerOf, PAGES, PASSWORD } from '../support/customer.ts';
import type { MailServer } from '../support/mail-server.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { createVisitor, type VisitedPage, type Visitor } from '../support/visitor.ts';

const PUBLIC_URL = 'https://souk.example';

test.override('soukOptions', ({ mailServer }) => ({
  workers: 0,
  pages: { ...PAGES, trials: 'open' as const },
  mail: { from: 'souk@souk.example', publicUrl: PUBLIC_URL, transport: { smtpUrl: mailServer.url } },
}));

let souk: Souk;
let server: MailServer;
test.beforeAll(async ({ souk: opened, mailServer }) => {
  souk = opened;
  server = mailServer;
  await ensureStandardPlans(souk.database);
  await souk.addWorker(['batch']);
});

let email = '';
let number = 0;
let visitor: Visitor;
beforeEach(() => {
  server.reset();
  number += 1;
  email = `ann-${number}@customers.example`;
  visitor = stranger();
  // The limits of an hour.
  souk.clock.advance(3_600_000);
});

const stranger = (userAgent = 'a browser') =>
  createVisitor(souk.clientOf('').baseUrl, { 'user-agent': userAgent, 'x-forwarded-for': '203.0.113.9' });

/** Waits until the worker has sent this many mails since the start of the test. @returns their subjects, sorted. */
async function subjects(howMany: number): Promise<string[]> {
  await souk.clock.until('outbox step');
  souk.clock.advance(1_000);
  const mails = await server.received(howMany);
  // The worker records the acceptance after it.
  const pending = () =>
    souk.database.query("select 1 from outbox where channel = 'mail' and state = 'pending'");
  await expect.poll(async () => (await pending()).rowCount).toBe(0);
  return mails.map(({ subject }) => subject ?? '').toSorted((a, b) => a.localeCompare(b));
}

function mailOf(subject: string): Email | undefined {
  return server.taken.findLast((mail) => mail.subject === subject);
}

/** The path of a link in a mail. */
function linkIn(mail: Email | undefined): string {
  const [, path = ''] = new RegExp(`${PUBLIC_URL}(/[\\w-]+\\?token=\\S+)`).exec(mail?.text ?? '') ?? [];
  return path;
}

async function signUp(): Promise<VisitedPage> {
  await visitor.get('/sign-up');
  const page = await visitor.post('/sign-up', { email, name: 'Ann', password: PASSWORD });
  expect(await subjects(1)).toEqual(['Confirm your e-mail address']);
  return page;
}

async function follow(path: string, fields: Record<string, string> = {}): Promise<VisitedPage> {
  const other = stranger();
  const shown = await other.get(path);
  if (shown.status !== 200) return shown;
  const token = new URL(path, PUBLIC_URL).searchParams.get('token') ?? '';
  return other.post(path.split('?')[0] ?? '', { token, ...fields });
}

async function signIn(as: Visitor, password = PASSWORD): Promise<VisitedPage> {
  await as.get('/sign-in');
  return as.post('/sign-in', { email, password });
}

describe('the address of a new account', () => {
  test('is confirmed once by the button behind the link, and the trial follows', async () => {
    expect((await signUp()).text).toContain('Confirm your e-mail address');
    const plans = await visitor.get('/account/plans');
    expect(plans.text).not.toContain('Choose Trial');
    expect(plans.text).toContain('Open the link in the mail that you have received.');
    const path = linkIn(mailOf('Confirm your e-mail address'));
    expect((await stranger().get(path)).text).toContain(email);
    expect((await visitor.get('/account/plans')).text).toContain('Confirm your e-mail address');
    expect((await follow(path)).status).toBe(200);
    const after = await visitor.get('/account/plans');
    expect(after.text).not.toContain('Confirm your e-mail address');
    expect(after.text).toContain('Choose Trial');
    expect((await follow(path)).status).toBe(404);
  });

  test('is not confirmed by a link that is older than a day, and five more links an hour are sent', async () => {
    await signUp();
    const path = linkIn(mailOf('Confirm your e-mail address'));
    souk.clock.advance(86_400_001);
    expect((await follow(path)).status).toBe(404);
    await visitor.get('/account/settings');
    const again = () => visitor.post('/profile/confirm-email', {});
    for (let i = 0; i < 5; i += 1) expect((await again()).text).toContain('A mail is on its way.');
    expect((await again()).status).toBe(429);
    await subjects(6);
    expect((await follow(linkIn(server.taken.at(-1)))).status).toBe(200);
  });
});

describe('a change of the address', () => {
  const change = (fields: { email: string; password: string }) => visitor.post('/profile/email', fields);

  test('takes effect when the link in the mail to the new address is used, and the old address is informed', async () => {
    await signUp();
    const older = linkIn(mailOf('Confirm your e-mail address'));
    await visitor.get('/account/settings');
    const wanted = `new-${email}`;
    expect((await change({ email: wanted, password: 'not the password' })).status).toBe(400);
    await change({ email: wanted, password: PASSWORD });
    await subjects(3);
    expect(mailOf('Your e-mail address is being changed')?.to).toMatchObject([{ address: email }]);
    expect(mailOf('Your e-mail address is being changed')?.text).toContain(wanted);
    expect((await visitor.get('/account/settings')).text).toContain(email);
    // The link to the old address no longer counts.
    expect((await follow(older)).status).toBe(404);
    const sent = mailOf('Confirm your new e-mail address');
    expect(sent?.to).toMatchObject([{ address: wanted }]);
    expect((await follow(linkIn(sent))).status).toBe(200);
    expect((await visitor.get('/account/settings')).text).toContain(wanted);
    expect((await signIn(stranger())).status).toBe(401);
  });

  test('invalidates the links for a new password that were sent to the old address', async () => {
    await signUp();
    const reset = await createMailedReset(souk.database, email, souk.clock.now());
    await visitor.get('/account/settings');
    await change({ email: `new-${email}`, password: PASSWORD });
    await subjects(3);
    expect((await follow(linkIn(mailOf('Confirm your new e-mail address')))).status).toBe(200);
    const password = 'the password of a stranger';
    expect((await follow(`/reset-password?token=${reset}`, { password })).status).toBe(404);
    expect((await visitor.get('/account')).path).toBe('/account');
  });

  test('ends with a new password, and so do earlier links for a new password', async () => {
    await signUp();
    await visitor.get('/account/settings');
    await change({ email: `new-${email}`, password: PASSWORD });
    await subjects(3);
    const first = linkIn(mailOf('Confirm your new e-mail address'));
    const reset = await createMailedReset(souk.database, email, souk.clock.now());
    const other = await createMailedReset(souk.database, email, souk.clock.now());
    const password = 'a long and secret password';
    expect((await follow(`/reset-password?token=${reset}`, { password })).status).toBe(200);
    expect((await follow(first)).status).toBe(404);
    expect((await follow(`/reset-password?token=${other}`, { password: PASSWORD })).status).toBe(404);

    await signIn(visitor, password);
    await visitor.get('/profile');
    await change({ email: `new-${email}`, password });
    await subjects(7);
    const last = await createMailedReset(souk.database, email, souk.clock.now());
    const changed = await visitor.post('/profile/password', { current: password, password: PASSWORD });
    expect(changed.text).toContain('Your password has been changed.');
    expect((await follow(linkIn(mailOf('Confirm your new e-mail address')))).status).toBe(404);
    expect((await follow(`/reset-password?token=${last}`, { password })).status).toBe(404);
    await subjects(8);
  });

  test('sends no link if another password was set before', async () => {
    await signUp();
    await visitor.get('/account/settings');
    const reset = await createMailedReset(souk.database, email, souk.clock.now());
    await change({ email: `new-${email}`, password: PASSWORD });
    souk.clock.advance(1);
    const password = 'a long and secret password';
    expect((await follow(`/reset-password?token=${reset}`, { password })).status).toBe(200);
    expect(await subjects(3)).toEqual([
      'Confirm your e-mail address',
      'Your e-mail address is being changed',
      'Your password was changed',
    ]);
  });

  test('to the address of somebody else is refused, and a link is void once somebody else has its address', async () => {
    await signUp();
    await visitor.get('/account/settings');
    const taken = await change({ email: 'ann-1@customers.example', password: PASSWORD });
    expectPage(taken, 409, 'belongs to somebody else');
    await change({ email: `new-${email}`, password: PASSWORD });
    await subjects(3);
    const path = linkIn(mailOf('Confirm your new e-mail address'));
    await souk.database.query('insert into people (email, name, created_at) values ($1, $2, now())', [
      `new-${email}`,
      'Another',
    ]);
    expect((await follow(path)).status).toBe(404);
    expect((await visitor.get('/account/settings')).text).toContain(email);
  });
});

describe('a forgotten password', () => {
  async function forget(address: string): Promise<VisitedPage> {
    const other = stranger();
    await other.get('/forgot-password');
    return other.post('/forgot-password', { email: address });
  }

  test('is replaced by a link that works once, which ends the sessions and informs the owner', async () => {
    await signUp();
    const answer = await forget(email.toUpperCase());
    expect(answer.text).toContain('If the address has an account, a link is on its way.');
    await subjects(2);
    const path = linkIn(mailOf('Set a new password'));
    expect((await follow(path, { password: 'another password' })).path).toBe('/sign-in');
    expect((await visitor.get('/account')).path).toContain('/sign-in');
    expect((await follow(path, { password: 'a third password' })).status).toBe(404);
    expect(await subjects(3)).toContain('Your password was changed');
    expect((await signIn(stranger(), 'another password')).path).toBe('/account');
    expect(await subjects(4)).toContain('A new sign-in to your account');
  });

  test('has the same answer for an address without an account, whose mail is not sent', async () => {
    await signUp();
    const [known, unknown] = [await forget(email), await forget('stranger@customers.example')];
    expect([unknown.status, unknown.text]).toEqual([known.status, known.text]);
    await subjects(2);
    expect(server.attempts).toBe(2);
    const { rows } = await souk.database.query("select 1 from outbox where recipient like 'stranger@%'");
    expect(rows).toEqual([]);
  });

  test('is not replaced by a link that is older than an hour', async () => {
    await signUp();
    await forget(email);
    await subjects(2);
    souk.clock.advance(3_600_001);
    expect(
      (await follow(linkIn(mailOf('Set a new password')), { password: 'another password' })).status,
    ).toBe(404);
  });

  test('can be requested five times an hour for an address, with or without an account', async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 6; i += 1) statuses.push((await forget('limited@customers.example')).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  });
});

test('a sign-in in an unknown browser informs the owner with its name, and one in a known browser does not', async () => {
  await signUp();
  await visitor.post('/sign-out', {});
  expect((await signIn(visitor)).path).toBe('/account');
  expect((await signIn(stranger('Firefox <b>'))).path).toBe('/account');
  await subjects(2);
  const mail = mailOf('A new sign-in to your account');
  expect(mail?.text).toContain('Browser: Firefox <b>');
  expect(mail?.html).not.toContain('<b>');
  expect(server.attempts).toBe(2);
});

describe('notices', () => {
  const LOW = { source: 'packs', period: '1', of: 'your packs', remaining: 1, total: 10 };

  test('are switched off on the settings page, or by one POST to the link in the mail without a session', async () => {
    await signUp();
    await follow(linkIn(mailOf('Confirm your e-mail address')));
    const accountId = await accountOf(souk.database, email);
    const queue = (period: string) =>
      queueMail(souk.database, { accountId, kind: 'units_low', facts: { ...LOW, period } }, souk.clock.now());
    await queue('1');
    await subjects(2);
    const path = linkIn(mailOf('20 % of your units are left'));
    expect(path).toContain('/unsubscribe?token=');
    expect((await stranger().get(path)).text).toContain('Switch off');
    await queue('2');
    await subjects(3);

    const { status, sentHtml } = await stranger().send(path, { 'List-Unsubscribe': 'One-Click' });
    expect(status).toBe(200);
    expect(sentHtml).toContain(`href="/account/${accountId}/settings"`);
    await queue('3');
    await subjects(3);
    const settings = await visitor.get('/account/settings');
    expect(settings.html).toMatch(/name="plan"[^>]*checked/);
    expect(settings.html).not.toMatch(/name="units"[^>]*checked/);
    await visitor.post('/account/settings/notices', { units: 'on' });
    await queue('4');
    await subjects(4);
    expect(server.attempts).toBe(4);
  });

  test('are not switched off by a changed link', async () => {
    await signUp();
    const accountId = await accountOf(souk.database, email);
    const member = { accountId, personId: await ownerOf(souk.database, accountId) };
    await setTopicsOff(souk.database, member, []);
    const token = await unsubscribeToken(souk.database, member, 'units');
    for (const wrong of [token.replace('.units.', '.plan.'), `1${token}`, `${token.slice(0, -1)}-`, 'x', ''])
      expect((await stranger().send(`/unsubscribe?token=${wrong}`, {})).status).toBe(404);
    expect(await topicsOff(souk.database, member)).toEqual([]);
  });
});
