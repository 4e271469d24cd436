import { describe, expect } from 'vitest';
import { ensureStandardPlans } from '../../src/billing/standard-plans.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { createVisitor, type Visitor } from '../support/visitor.ts';

const TOKEN = 'only-for-the-operator';
const HOSTILE = '<script>alert("x")</script>';

let souk: Souk;
const visitor = () => createVisitor(souk.clientOf('').baseUrl);

test.override('soukOptions', { operator: { adminToken: TOKEN } });
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  await ensureStandardPlans(souk.database);
});

async function operator(): Promise<Visitor> {
  const signedIn = visitor();
  await signedIn.get('/admin/sign-in');
  const overview = await signedIn.post('/admin/sign-in', { token: TOKEN });
  expect([overview.status, overview.path]).toEqual([200, '/admin']);
  return signedIn;
}

/** Signs up a customer. */
async function customer(email: string, name = 'A customer'): Promise<Visitor> {
  const signedUp = visitor();
  await signedUp.get('/sign-up');
  await signedUp.post('/sign-up', { email, name, password: 'correct horse battery' });
  return signedUp;
}

async function order(by: Visitor, kind: 'plan' | 'pack', code: string): Promise<string> {
  const checkout = await by.get(`/account/checkout?kind=${kind}&code=${code}`);
  const orderId = /name="orderId" value="([^"]+)"/.exec(checkout.html)?.[1] ?? '';
  await by.post('/account/checkout', { orderId, kind, code, wallet: 'general', quantity: '1', months: '1' });
  return orderId;
}

async function idOf(email: string): Promise<number> {
  const { rows } = await souk.database.query<{ id: number }>(
    'select account_id as id from account_owners where email = $1',
    [email],
  );
  return rows[0]?.id ?? 0;
}

const PAGES = [
  '',
  '/accounts',
  '/accounts/new',
  '/orders',
  '/offers',
  '/offers/plan',
  '/offers/pack',
  '/upstream',
  '/errors',
  '/reports',
  '/storage',
  '/mails',
  '/audit',
  '/announcements',
  '/incidents',
  '/two-factor',
].map((path) => `/admin${path}`);

describe('access to the console', () => {
  test.each(PAGES)("%s redirects customers and visitors to the operator's sign-in", async (path) => {
    for (const who of [visitor(), await customer(`${path.replaceAll('/', '-')}@in.example`)]) {
      const page = await who.get(path);
      expect(page.path).toBe(`/admin/sign-in?to=${encodeURIComponent(path)}`);
      expect(page.html).toContain('name="token"');
    }
    const page = await (await operator()).get(path);
    expect([page.status, page.path]).toEqual([200, path]);
    expect(page.html).not.toMatch(/<script(?![^>]* src=)|<style|style="/);
  });

  test.each(PAGES)(
    '%s opens with the token in the Authorization header, and returns 401 for another token',
    async (path) => {
      const ask = (authorization: string) => souk.clientOf('').raw(path, { headers: { authorization } });
      expect((await ask(`Bearer ${TOKEN}`)).status).toBe(200);
      expect((await ask(`Basic ${Buffer.from(`me:${TOKEN}`).toString('base64')}`)).status).toBe(200);
      // Ten incorrect tokens would close the console to this network.
      if (PAGES.indexOf(path) >= 9) return;
      const guess = await ask('Bearer only-for-the-operatoR');
      expect(guess.status).toBe(401);
      expect(guess.headers['www-authenticate']).toMatch(/^Basic /);
    },
  );

  test("the operator's session opens the queue board, and signing out closes both", async () => {
    const who = await operator();
    expect((await who.get('/admin/queues')).status).toBe(200);
    const stolen = new Map(who.cookies);
    await who.get('/admin');
    expect((await who.post('/admin/sign-out', {})).path).toBe('/admin/sign-in');
    for (const [name, value] of stolen) who.cookies.set(name, value);
    expect((await who.get('/admin')).path).toMatch(/^\/admin\/sign-in/);
    expect((await who.get('/admin/queues')).status).toBe(401);
  });

  test("a customer's session does not open the queue board, and the operator's session no account", async () => {
    expect((await (await customer('queues@in.example')).get('/admin/queues')).status).toBe(401);
    expect((await (await operator()).get('/account')).path).toMatch(/^\/sign-in/);
  });

  test('returns 429 after ten wrong tokens, also for the right token', async ({ openAnother }) => {
    const other = await openAnother({ workers: 0, operator: { adminToken: TOKEN } });
    const guesser = createVisitor(other.clientOf('').baseUrl);
    await guesser.get('/admin/sign-in');
    const statuses: number[] = [];
    for (let i = 0; i < 12; i += 1)
      statuses.push((await guesser.post('/admin/sign-in', { token: `guess-${i}` })).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429]);
    const right = await guesser.post('/admin/sign-in', { token: TOKEN });
    expect([right.status, right.text]).toEqual([429, expect.stringContaining('Too many attempts')]);
  });

  test('a session ends when ADMIN_TOKEN changes', async () => {
    const who = await operator();
    await souk.database.query(
      "update web_sessions set credential = sha256('another token') where account_id is null",
    );
    expect((await who.get('/admin')).path).toMatch(/^\/admin\/sign-in/);
  });

  test('the sign-in redirects only to pages of the console', async () => {
    const who = visitor();
    await who.get('/admin/sign-in');
    const page = await who.post('/admin/sign-in', { token: TOKEN, to: 'https://evil.example/admin' });
    expect(page.path).toBe('/admin');
  });
});

test('every page of the console returns 404 without ADMIN_TOKEN', async ({ openAnother }) => {
  const plain = await openAnother({ workers: 0 });
  const who = createVisitor(plain.clientOf('').baseUrl);
  for (const path of [...PAGES, '/admin/sign-in'])
    expect([path, (await who.get(path)).status]).toEqual([path, 404]);
});

const ACTIONS = [
  '/admin/sign-in',
  '/admin/sign-out',
  ...['disable', 'enable', 'view', 'password', 'subscription', 'pack'].map(
    (act) => `/admin/accounts/1/${act}`,
  ),
  ...['confirm', 'cancel'].map((act) => `/admin/orders/0198a2b0-0000-7000-8000-000000000000/${act}`),
  '/admin/offers/plan',
  '/admin/offers/pack',
  '/reset-password',
];

test.each(ACTIONS)('%s returns 403 without the CSRF token of its form', async (path) => {
  const who = await operator();
  for (const fields of [{}, { _csrf: 'guessed' }] as Record<string, string>[]) {
    const refused = await who.send(path, { ...fields, token: TOKEN });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('Form expired')]);
  }
  const withHeader = await souk.clientOf('').raw(path, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'name=x',
  });
  expect(withHeader.status).toBe(403);
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
      `insert into accounts (email, name, created_at)
       select 'many' || n || '@pages.example', 'Many', now() from generate_series(1, 60) n`,
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
    expect([again.status, again.text]).toEqual([409, expect.stringContaining('already has an account')]);
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
    expect((await signedIn.get('/account')).path).toMatch(/^\/sign-in/);
    await signedIn.get('/sign-in');
    const refused = await signedIn.post('/sign-in', {
      email: 'off@find.example',
      password: 'correct horse battery',
    });
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
    expect([overlapping.status, overlapping.text]).toEqual([
      409,
      expect.stringContaining('the new one would overlap it'),
    ]);
    const bad = await who.post(`/admin/accounts/${id}/pack`, {
      units: '-1',
      wallet: 'general',
      rate: 'x',
      validDays: '1',
    });
    expect([bad.status, bad.text]).toEqual([400, expect.stringContaining('must be a whole number from 1')]);
    const pack = { units: '50', rate: '60', validDays: '9', window: '22:00-06:00 Europe/Berlin' };
    const general = await who.post(`/admin/accounts/${id}/pack`, { ...pack, wallet: 'general' });
    expect([general.status, general.text]).toEqual([400, expect.stringContaining('off-peak wallet only')]);
    const { rows } = await souk.database.query('select 1 from packs where account_id = $1', [id]);
    expect(rows).toEqual([]);
    const own = await who.post(`/admin/accounts/${id}/pack`, { ...pack, wallet: 'off_peak' });
    expect(own.text).toContain('Off-peak 22:00-06:00 Europe/Berlin 50 50 60');
    expect((await who.get(`/admin/accounts/${id + 1_000_000}`)).status).toBe(404);
  });

  test('are viewed as their customers see them, and cannot be changed meanwhile', async () => {
    const email = 'seen@find.example';
    await customer(email, 'Seen');
    const id = await idOf(email);
    const who = await operator();
    await who.get(`/admin/accounts/${id}`);
    const seen = await who.post(`/admin/accounts/${id}/view`, {});
    expect(seen.path).toBe('/account');
    for (const path of ['/account', '/account/plans', '/account/keys', '/account/settings']) {
      const page = await who.get(path);
      expect(page.text).toContain(`You are viewing the pages of ${email} as the operator.`);
    }
    const refused = await who.post('/profile/password', {
      current: 'correct horse battery',
      password: 'another horse battery',
    });
    expect([refused.status, refused.text]).toEqual([
      403,
      expect.stringContaining('Changes are not allowed here'),
    ]);
    await who.get('/account');
    const back = await who.post('/sign-out', {});
    expect(back.path).toBe(`/admin/accounts/${id}`);
    expect((await who.get('/account')).path).toMatch(/^\/sign-in/);
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

describe('purchases', () => {
  test('a confirmed purchase grants the plan once, and gives the customer a key', async () => {
    const buyer = await customer('buyer@orders.example', HOSTILE);
    const orderId = await order(buyer, 'plan', 'basic');
    const who = await operator();
    const list = await who.get('/admin/orders');
    expect(list.text).toContain('buyer@orders.example');
    expect(list.text).toContain(orderId);
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
    expect([taken.status, taken.text]).toEqual([
      409,
      expect.stringContaining('is already the code of another'),
    ]);
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
