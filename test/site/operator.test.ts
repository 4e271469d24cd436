import { describe, expect } from 'vitest';
import { ensureStandardPlans } from '../../src/billing/standard-plans.ts';
import {
  accountOf,
  buy,
  expectPage,
  PASSWORD,
  signedIn,
  signUp,
  staffOf,
  visitorOf,
} from '../support/customer.ts';
import { servedPaths } from '../support/routes.ts';
import type { Souk, SoukOptions } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { createVisitor, type Visitor } from '../support/visitor.ts';
import { words } from '../support/words.ts';

const TOKEN = 'only-for-the-operator';
const HOSTILE = '<script>alert("x")</script>';

let souk: Souk;
const visitor = () => createVisitor(souk.clientOf('').baseUrl);

test.override('soukOptions', { operator: { adminToken: TOKEN } });
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  await ensureStandardPlans(souk.database);
});

/** An operator who has a page with a form open. */
async function operator(): Promise<Visitor> {
  const { visitor: signedIn } = await staffOf(souk);
  const overview = await signedIn.get('/admin');
  expect([overview.status, overview.path]).toEqual([200, '/admin']);
  return signedIn;
}

const SIGN_IN = { password: PASSWORD };

/** Signs up a customer. */
const customer = (email: string, name = 'A customer', at = souk) => signUp(at, email, { name });

/** Sets a role as an operator does. */
async function setRole(email: string, role: string): Promise<void> {
  const who = await operator();
  await who.get('/admin/staff');
  expect((await who.post('/admin/staff', { email, role })).status).toBe(200);
}

const order = async (by: Visitor, kind: 'plan' | 'pack', code: string) =>
  (await buy(by, `kind=${kind}&code=${code}`)).orderId;

const idOf = (email: string) => accountOf(souk.database, email);

const PAGES = words(`
  accounts accounts/new orders offers offers/plan offers/pack upstream provider-accounts errors reports storage mails
  audit announcements incidents staff
`)
  .map((path) => `/admin/${path}`)
  .concat('/admin');

describe('access to the console', () => {
  test('opens with the token in the Authorization header, and returns 401 for another token', async () => {
    const ask = (authorization: string) => souk.clientOf('').raw('/admin', { headers: { authorization } });
    expect((await ask(`Bearer ${TOKEN}`)).status).toBe(200);
    expect((await ask(`Basic ${Buffer.from(`me:${TOKEN}`).toString('base64')}`)).status).toBe(200);
    const guess = await ask('Bearer only-for-the-operatoR');
    expect(guess.status).toBe(401);
    expect(guess.headers['www-authenticate']).toMatch(/^Basic /);
  });

  test('signing in like a customer leads back to the page of the console', async () => {
    const email = 'staff@in.example';
    const who = await customer(email);
    await setRole(email, 'observer');
    // A role that is given ends the sessions.
    expect((await who.get('/admin/errors?q=x')).path).toBe(
      `/sign-in?to=${encodeURIComponent('/admin/errors?q=x')}`,
    );
    const page = await who.post('/sign-in', { ...SIGN_IN, email, to: '/admin/errors?q=x' });
    expect([page.status, page.path]).toEqual([200, '/admin/errors?q=x']);
    expect((await who.get('/profile')).text).toContain(email);
  });

  test("an operator's session opens the queue board, and signing out closes both", async () => {
    const who = await operator();
    expect((await who.get('/admin/queues')).status).toBe(200);
    const stolen = new Map(who.cookies);
    await who.get('/admin');
    expect((await who.post('/sign-out', {})).path).toBe('/');
    for (const [name, value] of stolen) who.cookies.set(name, value);
    expect((await who.get('/admin')).path).toMatch(/^\/sign-in/);
    expect((await who.get('/admin/queues')).status).toBe(401);
  });

  test('the session of somebody with a role ends after 12 hours without a request', async () => {
    const { accountId, personId } = await signedIn(souk);
    const both = [await staffOf(souk, 'support'), { ...(await visitorOf(souk, personId)) }] as const;
    const home = `/account/${accountId}`;
    const open = async () => [
      (await both[0].visitor.get('/admin')).path,
      (await both[1].visitor.get(home)).address,
    ];
    souk.clock.advance(12 * 3_600_000 - 1);
    expect(await open()).toEqual(['/admin', home]);
    // The request has renewed both.
    souk.clock.advance(12 * 3_600_000 - 1);
    expect(await open()).toEqual(['/admin', home]);
    souk.clock.advance(12 * 3_600_000 + 1);
    expect(await open()).toEqual(['/sign-in?to=%2Fadmin', home]);
  });

  test('a role that is taken away ends the sessions, and its person has no access after signing in', async () => {
    const email = 'former@in.example';
    const who = await customer(email);
    await setRole(email, 'finance');
    await who.get('/sign-in');
    expect((await who.post('/sign-in', { ...SIGN_IN, email, to: '/admin' })).path).toBe('/admin');
    await setRole(email, 'none');
    expect((await who.get('/admin')).path).toBe('/sign-in?to=%2Fadmin');
    const page = await who.post('/sign-in', { ...SIGN_IN, email, to: '/admin' });
    expect([page.status, page.path]).toEqual([403, '/admin']);
  });

  test('an operator changes the roles of others, not their own', async () => {
    const { visitor: who, email } = await staffOf(souk);
    await customer('colleague@in.example');
    await who.get('/admin/staff');
    const own = await who.post('/admin/staff', { email, role: 'observer' });
    expectPage(own, 409, 'another operator changes your role');
    const unknown = await who.post('/admin/staff', { email: 'unknown@in.example', role: 'observer' });
    expectPage(unknown, 404, 'the person signs up first');
    const list = await who.post('/admin/staff', { email: 'colleague@in.example', role: 'finance' });
    expect(list.text).toContain('colleague@in.example A customer Finance');
  });
});

describe('the first operator', () => {
  const open = async (openAnother: (options: SoukOptions) => Promise<Souk>) => {
    const fresh = await openAnother({ workers: 0, operator: { adminToken: TOKEN } });
    return { fresh, signUp: (email: string) => customer(email, 'Somebody', fresh) };
  };

  test('enters the token once; afterwards the page returns 404', async ({ openAnother }) => {
    const { fresh, signUp } = await open(openAnother);
    const stranger = createVisitor(fresh.clientOf('').baseUrl);
    expect((await stranger.get('/admin/claim')).path).toBe('/sign-in?to=%2Fadmin%2Fclaim');
    const [first, second] = [await signUp('first@in.example'), await signUp('second@in.example')];
    // The console leads there while there is no operator.
    expect((await first.get('/admin/audit')).path).toBe('/admin/claim');
    const wrong = await first.post('/admin/claim', { token: 'a guess' });
    expectPage(wrong, 401, 'Incorrect operator token');
    await second.get('/admin/claim');
    const claimed = await first.post('/admin/claim', { token: TOKEN });
    expect([claimed.status, claimed.path]).toEqual([200, '/admin']);
    expect((await second.post('/admin/claim', { token: TOKEN })).status).toBe(404);
    for (const who of [first, second]) expect((await who.get('/admin/claim')).status).toBe(404);
    expect((await second.get('/admin')).status).toBe(403);
    const { rows } = await fresh.database.query(
      "select operator ~ '^token [0-9a-f]{8}$' as \"byToken\", target, before, after from audit_log where action = 'staff.changed'",
    );
    expect(rows).toEqual([
      {
        byToken: true,
        target: expect.stringMatching(/^person \d+$/),
        before: { role: null },
        after: { role: 'operator' },
      },
    ]);
  });

  test('one of two people who enter the token at the same time becomes the operator', async ({
    openAnother,
  }) => {
    const { fresh, signUp } = await open(openAnother);
    const both = [await signUp('one@in.example'), await signUp('two@in.example')];
    for (const who of both) await who.get('/admin/claim');
    const pages = await Promise.all(both.map((who) => who.post('/admin/claim', { token: TOKEN })));
    expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([200, 404]));
    const { rowCount } = await fresh.database.query(
      "select from people where installation_role = 'operator'",
    );
    expect(rowCount).toBe(1);
  });

  test('is refused after ten incorrect tokens, also with the right one', async ({ openAnother }) => {
    const { signUp } = await open(openAnother);
    const guesser = await signUp('guesser@in.example');
    await guesser.get('/admin/claim');
    const statuses: number[] = [];
    for (let i = 0; i < 12; i += 1)
      statuses.push((await guesser.post('/admin/claim', { token: `guess-${i}` })).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429]);
    const right = await guesser.post('/admin/claim', { token: TOKEN });
    expectPage(right, 429, 'Too many attempts');
  });
});

test('every page of the console returns 404 without ADMIN_TOKEN', async ({ openAnother }) => {
  const plain = await openAnother({ workers: 0 });
  const who = createVisitor(plain.clientOf('').baseUrl);
  for (const path of [...PAGES, '/admin/claim'])
    expect([path, (await who.get(path)).status]).toEqual([path, 404]);
});

test('every form of the console returns 403 without its CSRF token, also with the operator token', async () => {
  const who = await operator();
  const paths = servedPaths(souk.gateways[0]?.app)
    .filter(({ path, methods }) => methods.includes('POST') && /^\/(admin(?!\/queues)|reset-pass)/.test(path))
    .map(({ path }) =>
      path.replace(':orderId', '0198a2b0-0000-7000-8000-000000000000').replace(/:\w+/g, '1'),
    );
  expect(paths.length).toBeGreaterThan(20);
  for (const path of paths) {
    for (const fields of [{}, { _csrf: 'guessed' }] as Record<string, string>[]) {
      const { status, text } = await who.send(path, { ...fields, token: TOKEN });
      expect([path, status, text]).toEqual([path, 403, expect.stringContaining('Form expired')]);
    }
    const withHeader = await souk.clientOf('').raw(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'name=x',
    });
    expect([path, withHeader.status]).toEqual([path, 403]);
  }
});

describe('accounts', () => {
  test('are found by e-mail address, name, number and key, in pages', async () => {
    const { accountId, key } = await souk.account();
    await customer('ann@find.example', `Ann ${HOSTILE}`);
    const ann = await idOf('ann@find.example');
    const who = await operator();
    const found = async (text: string) => {
      const page = await who.get(`/admin/accounts?q=${encodeURIComponent(text)}`);
      return [...page.html.matchAll(/href="\/admin\/accounts\/(\d+)"/g)].map(([, id]) => Number(id));
    };
    expect(await found('ANN@find')).toEqual([ann]);
    expect(await found('<script>alert')).toEqual([ann]);
    expect(await found(String(ann))).toContain(ann);
    expect(await found(key.slice(0, 6))).toEqual([accountId]);
    expect(await found(key)).toEqual([accountId]);
    expect(await found('%')).toEqual([]);
    await souk.database.query(
      `with made as (insert into accounts (name, created_at) select 'Many', now() from generate_series(1, 60) returning id),
         owners as (insert into people (email, name, created_at)
           select 'many' || n || '@pages.example', 'Many', now() from generate_series(1, 60) n returning id)
       insert into members (account_id, person_id, role, created_at)
       select a.id, p.id, 'owner', now() from (select id, row_number() over () as n from made) a
       join (select id, row_number() over () as n from owners) p using (n)`,
    );
    const first = await found('@pages.example');
    const { html } = await who.get('/admin/accounts?q=%40pages.example');
    const older =
      /href="(\/admin\/accounts\?q=[^"]*before=\d+)"/.exec(html)?.[1]?.replace('&amp;', '&') ?? '';
    const second = [...(await who.get(older)).html.matchAll(/href="\/admin\/accounts\/(\d+)"/g)].length;
    expect([first.length, second]).toEqual([50, 10]);
  });

  test('a search with a null character returns 400', async () => {
    const who = await operator();
    for (const path of ['/admin/accounts?q=%00', '/admin/errors?q=%00'])
      expect((await who.get(path)).status).toBe(400);
  });

  test('names with HTML are shown as text', async () => {
    await customer('hostile@find.example', HOSTILE);
    const who = await operator();
    const id = await idOf('hostile@find.example');
    for (const path of [
      '/admin/accounts?q=hostile',
      `/admin/accounts/${id}`,
      `/admin/accounts?q=${encodeURIComponent(HOSTILE)}`,
    ]) {
      const page = await who.get(path);
      expect(page.html).not.toContain('<script>alert');
      expect(page.text).toContain(HOSTILE);
    }
  });

  test('are created in the console, once for an e-mail address', async () => {
    const who = await operator();
    await who.get('/admin/accounts/new');
    const page = await who.post('/admin/accounts/new', { email: 'Created@find.example', name: '' });
    expect(page.path).toBe(`/admin/accounts/${await idOf('created@find.example')}`);
    expect(page.text).toContain('created@find.example');
    await who.get('/admin/accounts/new');
    const again = await who.post('/admin/accounts/new', { email: 'created@find.example', name: 'Again' });
    expectPage(again, 409, 'already has an account');
  });

  test('disabling an account ends its session and refuses its key, until it is enabled', async () => {
    const signedIn = await customer('off@find.example');
    const id = await idOf('off@find.example');
    const who = await operator();
    await who.get(`/admin/accounts/${id}`);
    await who.post(`/admin/accounts/${id}/pack`, {
      units: '50',
      wallet: 'general',
      rate: '60',
      validDays: '30',
    });
    const shown = await signedIn.get('/account/keys').then(() => signedIn.post('/account/keys/first', {}));
    const client = souk.clientOf(/km_[A-Za-z0-9]{32}/.exec(shown.text)?.[0] ?? '');
    expect((await client.get('/api/quota')).status).toBe(200);

    expect((await who.post(`/admin/accounts/${id}/disable`, {})).text).toContain('Disabled');
    expect((await client.get('/api/quota')).status).toBe(403);
    expect((await signedIn.get('/account')).status).toBe(403);
    await signedIn.get('/sign-in');
    const refused = await signedIn.post('/sign-in', { ...SIGN_IN, email: 'off@find.example' });
    expect(refused.status).toBe(403);

    expect((await who.post(`/admin/accounts/${id}/enable`, {})).text).toContain('Active');
    expect((await client.get('/api/quota')).status).toBe(200);
  });

  test('are granted subscriptions and packs by the rules of the command', async () => {
    await customer('gifts@find.example');
    const id = await idOf('gifts@find.example');
    const who = await operator();
    await who.get(`/admin/accounts/${id}`);
    const gift = { plan: 'pro', wallet: 'general', quantity: '2', months: '3', starts: '' };
    const given = await who.post(`/admin/accounts/${id}/subscription`, gift);
    expect(given.text).toContain('Pro × 2');
    const overlapping = await who.post(`/admin/accounts/${id}/subscription`, gift);
    expectPage(overlapping, 409, 'the new one would overlap it');
    const bad = await who.post(`/admin/accounts/${id}/pack`, {
      units: '-1',
      wallet: 'general',
      rate: 'x',
      validDays: '1',
    });
    expectPage(bad, 400, 'must be a whole number from 1');
    const pack = { units: '50', rate: '60', validDays: '9', window: '22:00-06:00 Europe/Berlin' };
    const general = await who.post(`/admin/accounts/${id}/pack`, { ...pack, wallet: 'general' });
    expectPage(general, 400, 'off-peak wallet only');
    const { rows } = await souk.database.query('select 1 from packs where account_id = $1', [id]);
    expect(rows).toEqual([]);
    const own = await who.post(`/admin/accounts/${id}/pack`, { ...pack, wallet: 'off_peak' });
    expect(own.text).toContain('Off-peak 22:00-06:00 Europe/Berlin 50 50 60');
    expect((await who.get(`/admin/accounts/${id + 1_000_000}`)).status).toBe(404);
  });

  test('are viewed by staff as their customers see them, with one line in the audit log, and cannot be changed', async () => {
    const email = 'seen@find.example';
    await customer(email, 'Seen & shown');
    const id = await idOf(email);
    const { visitor: who, personId } = await staffOf(souk, 'observer');
    const viewed = async () =>
      (
        await souk.database.query<{ account_id: number }>(
          "select account_id from audit_log where action = 'account.viewed' and person_id = $1",
          [personId],
        )
      ).rows;
    expect((await who.get(`/admin/accounts/${id}`)).text).toContain('View as customer');
    expect(await viewed()).toEqual([]);
    for (const path of ['', '/plans', '/keys', '/settings', '/team', '/explore']) {
      const page = await who.get(`/account/${id}${path}`);
      expectPage(page, 200, 'You are viewing the pages of Seen & shown for the operator.');
    }
    expect(await viewed()).toEqual([{ account_id: id }]);
    const refused = await who.post(`/account/${id}/settings/name`, { name: 'Changed' });
    expectPage(refused, 403, 'Changes are not allowed here');
    expect((await who.get(`/account/${id + 1_000_000}`)).status).toBe(404);
  });

  test('a link to reset a password works once and for a day, and ends every session', async () => {
    const email = 'forgot@find.example';
    const elsewhere = await customer(email);
    const id = await idOf(email);
    const who = await operator();
    const linkOf = async () => {
      await who.get(`/admin/accounts/${id}`);
      const page = await who.post(`/admin/accounts/${id}/password`, {});
      return /http[^ ]+(\/reset-password\?token=[\w-]{43})/.exec(page.text)?.[1] ?? '';
    };
    const replaced = await linkOf();
    const link = await linkOf();
    const token = link.split('=')[1] ?? '';
    const owner = visitor();
    expect((await owner.get(replaced)).status).toBe(404);
    expect((await owner.get(link)).text).toContain(email);
    expect((await owner.post('/reset-password', { token, password: 'short' })).status).toBe(400);
    const done = await owner.post('/reset-password', { token, password: 'a brand new password' });
    expect(done.path).toBe('/sign-in');
    expect((await elsewhere.get('/account')).path).toMatch(/^\/sign-in/);
    expect((await owner.get(link)).status).toBe(404);
    await owner.get('/sign-in');
    expect((await owner.post('/reset-password', { token, password: 'yet another password' })).status).toBe(
      404,
    );
    expect((await owner.post('/sign-in', { email, password: 'a brand new password' })).path).toBe('/account');

    const late = await linkOf();
    souk.clock.advance(86_400_000);
    expect((await owner.get(late)).status).toBe(404);
  });
});

describe('people with the role support', () => {
  const PACK = { wallet: 'general', rate: '60', validDays: '30', window: '' };
  const grantTo = async (who: Visitor, id: number, units: number) => {
    const { status, text } = await who.post(`/admin/accounts/${id}/pack`, { ...PACK, units: String(units) });
    return [status, text] as const;
  };
  const unitsOf = async (id: number) => {
    const { rows } = await souk.database.query<{ units: number }>(
      'select coalesce(sum(total_units), 0)::bigint as units from packs where account_id = $1',
      [id],
    );
    return rows[0]?.units;
  };

  test('grant packs up to SUPPORT_GRANT_UNITS a day each, in all accounts together', async () => {
    const [{ accountId: one }, { accountId: other }] = [
      await souk.account({ plan: null }),
      await souk.account({ plan: null }),
    ];
    const { visitor: who } = await staffOf(souk, 'support');
    await who.get(`/admin/accounts/${one}`);
    expect(await grantTo(who, one, 10_001)).toEqual([
      409,
      expect.stringContaining(
        'Your role support grants at most 10,000 units a day. You can grant 10,000 more today.',
      ),
    ]);
    expect((await grantTo(who, one, 6_000))[0]).toBe(200);
    expect(await grantTo(who, other, 4_001)).toEqual([
      409,
      expect.stringContaining('You can grant 4,000 more'),
    ]);
    const both = await Promise.all([grantTo(who, other, 3_000), grantTo(who, other, 3_000)]);
    expect(new Set(both.map(([status]) => status))).toEqual(new Set([200, 409]));
    expect([await unitsOf(one), await unitsOf(other)]).toEqual([6_000, 3_000]);

    const colleague = (await staffOf(souk, 'support')).visitor;
    await colleague.get('/admin');
    expect((await grantTo(colleague, one, 10_000))[0]).toBe(200);
    const finance = (await staffOf(souk, 'finance')).visitor;
    await finance.get('/admin');
    expect((await grantTo(finance, one, 1_000_000))[0]).toBe(200);
  });

  test('create no link that sets the password of somebody with a role in the installation', async () => {
    const { accountId, personId } = await signedIn(souk);
    await souk.database.query("update people set installation_role = 'observer' where id = $1", [personId]);
    const ask = async (who: Visitor) => {
      await who.get('/admin');
      return who.post(`/admin/accounts/${accountId}/password`, {});
    };
    const refused = await ask((await staffOf(souk, 'support')).visitor);
    expectPage(refused, 403, 'The owner of this account has a role in this installation.');
    expect((await ask(await operator())).text).toContain('Password reset link');
  });
});

describe('purchases', () => {
  test('a confirmed purchase grants the plan once, and gives the customer a key', async () => {
    const buyer = await customer('buyer@orders.example', HOSTILE);
    const orderId = await order(buyer, 'plan', 'basic');
    const who = await operator();
    const list = await who.get('/admin/orders');
    expect(list.text).toContain('buyer@orders.example');
    expect(list.text).toContain(orderId);
    expect(list.html).toContain(
      'data-confirm="Confirm that buyer@orders.example has paid $29.00? The purchase is granted immediately."',
    );
    expect((await buyer.get('/account/keys')).text).toContain('You receive a key with your first purchase');

    await who.post(`/admin/orders/${orderId}/confirm`, {});
    await who.post(`/admin/orders/${orderId}/confirm`, {});
    const { rows } = await souk.database.query<{ n: number }>(
      'select count(*) as n from subscriptions where account_id = $1',
      [await idOf('buyer@orders.example')],
    );
    expect(rows[0]?.n).toBe(1);
    await buyer.get('/account/keys');
    const key = /km_[A-Za-z0-9]{32}/.exec((await buyer.post('/account/keys/first', {})).text)?.[0] ?? '';
    const quota = (await souk.clientOf(key).get('/api/quota')).json.data;
    expect(quota.general).toMatchObject({ subscribed: true, plan: { name: 'Basic' } });
  });

  test('a cancelled purchase grants nothing', async () => {
    const buyer = await customer('late@orders.example');
    const orderId = await order(buyer, 'pack', 'units-10k');
    const who = await operator();
    await who.get('/admin/orders');
    expect((await who.post(`/admin/orders/${orderId}/cancel`, {})).text).toContain('manual Cancelled');
    expect((await buyer.get(`/account/orders/${orderId}`)).text).toContain('Cancelled');
  });
});

describe('offers', () => {
  test('a pack with hours of its own is shown with them, and granted with them', async () => {
    const who = await operator();
    await who.get('/admin/offers/pack');
    const saved = await who.post('/admin/offers/pack', {
      isNew: '1',
      code: 'night',
      name: 'Night',
      wallet: 'off_peak',
      window: '22:00-06:00 Europe/Berlin',
      units: '500',
      rateLimitPerMinute: '60',
      validDays: '30',
      price: '5',
      isOffered: '1',
    });
    expect(saved.text).toContain('Night night Off-peak 22:00-06:00 Europe/Berlin 500');
    expect((await who.get('/admin/offers/pack?code=night')).html).toContain(
      'value="22:00-06:00 Europe/Berlin"',
    );

    const buyer = await customer('night@offers.example');
    const hours = 'from 22:00 to 06:00 (Europe/Berlin)';
    expect((await buyer.get('/account/plans')).text).toContain(hours);
    const orderId = await order(buyer, 'pack', 'night');
    await who.get('/admin/orders');
    await who.post(`/admin/orders/${orderId}/confirm`, {});
    expect((await buyer.get('/account')).text).toContain(`Usable daily ${hours}`);
  });

  test('a change of limits applies to later purchases only', async () => {
    const [had, ordered] = [await customer('had@offers.example'), await customer('ordered@offers.example')];
    const who = await operator();
    const hadOrder = await order(had, 'plan', 'pro');
    await who.get('/admin/orders');
    await who.post(`/admin/orders/${hadOrder}/confirm`, {});
    const pending = [await order(ordered, 'plan', 'pro'), await order(ordered, 'pack', 'units-100k')];

    await who.get('/admin/offers/plan?code=pro');
    const pro = {
      code: 'pro',
      name: 'Pro',
      minuteLimit: '5',
      dailyLimit: '',
      monthlyLimit: '7',
      price: '9.50',
      isOffered: '1',
    };
    expect((await who.post('/admin/offers/plan', pro)).text).toMatch(
      /Pro pro 5 unlimited 7 \$9\.50 - \d for sale/,
    );
    await who.get('/admin/offers/pack?code=units-100k');
    await who.post('/admin/offers/pack', {
      code: 'units-100k',
      name: 'Less',
      wallet: 'general',
      units: '10',
      rateLimitPerMinute: '1',
      validDays: '1',
      price: '1',
      isOffered: '1',
    });
    await who.get('/admin/orders');
    for (const orderId of pending) await who.post(`/admin/orders/${orderId}/confirm`, {});

    for (const email of ['had@offers.example', 'ordered@offers.example']) {
      const page = await who.get(`/admin/accounts/${await idOf(email)}`);
      expect(page.text).toContain('0 of 20,000 0 of 300,000');
    }
    const page = await who.get(`/admin/accounts/${await idOf('ordered@offers.example')}`);
    expect(page.text).toContain('100,000 100,000 120');
    const stranger = await customer('new@offers.example');
    const newOrder = await order(stranger, 'plan', 'pro');
    await who.get('/admin/orders');
    await who.post(`/admin/orders/${newOrder}/confirm`, {});
    expect((await who.get(`/admin/accounts/${await idOf('new@offers.example')}`)).text).toContain(
      '0 of unlimited 0 of 7',
    );
  });

  test('a withdrawn offer cannot be bought, and stays in the console', async () => {
    const who = await operator();
    await who.get('/admin/offers/plan?code=enterprise');
    await who.post('/admin/offers/plan', {
      code: 'enterprise',
      name: 'Enterprise',
      minuteLimit: '1200',
      dailyLimit: '',
      monthlyLimit: '5000000',
      price: '999',
    });
    const buyer = await customer('withdrawn@offers.example');
    expect((await buyer.get('/account/plans')).text).not.toContain('Enterprise');
    expect((await buyer.get('/account/checkout?kind=plan&code=enterprise')).path).toBe('/account/plans');
    expect((await who.get('/admin/offers')).text).toMatch(/Enterprise enterprise .* withdrawn/);
  });

  test('a new offer needs a unique code, and bad values are named', async () => {
    const who = await operator();
    await who.get('/admin/offers/plan');
    const plan = {
      isNew: '1',
      name: `Tiny ${HOSTILE}`,
      minuteLimit: '',
      dailyLimit: '',
      monthlyLimit: '10',
      price: '',
      isOffered: '1',
    };
    const taken = await who.post('/admin/offers/plan', { ...plan, code: 'basic' });
    expectPage(taken, 409, 'is already the code of another');
    const made = await who.post('/admin/offers/plan', { ...plan, code: 'tiny' });
    expect(made.text).toContain(`Tiny ${HOSTILE} tiny`);
    expect(made.html).not.toContain('<script>alert');
    const bad = await who.post('/admin/offers/pack', { isNew: '1', code: 'Ä', name: '', price: '-1' });
    expect(bad.status).toBe(400);
    for (const text of ['lower-case letters', 'is required', 'such as 29', 'must be a whole number'])
      expect(bad.text).toContain(text);
  });
});

test('the storage page shows each table with its size and rule, and what maintenance has done', async () => {
  await souk.database.query(
    "insert into retention_notes (at, note) values (now(), 'Deleted finished_calls_2001_01')",
  );
  const { html } = await (await operator()).get('/admin/storage');
  expect(html).toContain('Deleted finished_calls_2001_01');
  expect(html).toMatch(/finished_calls<\/code>.*?[\d.]+ MiB.*?CALLS_KEPT_MONTHS months/s);
  expect(html).not.toContain('<code>finished_calls_2');
  // A sample of the keys: those of other services of this Redis may be most of them.
  expect(html).toMatch(/Redis uses [\d.]+ MiB.*?Estimated size/s);
});
