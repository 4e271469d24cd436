import { expect } from 'vitest';
import { expectPage, signUp, staffOf } from '../support/customer.ts';
import type { Souk } from '../support/souk.ts';
import { soukCommand } from '../support/souk-command.ts';
import { test } from '../support/souk-test.ts';
import { createVisitor, type Visitor } from '../support/visitor.ts';

const MINUTE_MS = 60_000;
const BROWSER = { headers: { accept: 'text/html' } };

test.override('soukOptions', { operator: { adminToken: 'only-for-the-operator' } });

let souk: Souk;
let operator: Visitor;
const visitor = () => createVisitor(souk.clientOf('').baseUrl);
const json = async () => (await souk.clientOf('').raw('/status.json')).json as unknown as StatusJson;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  operator = (await staffOf(souk)).visitor;
  await operator.get('/admin');
});

interface StatusJson {
  status: string;
  lastKnown: boolean;
  components: { id: string; status: string; uptime: number | null; days: { level: string | null }[] }[];
  incidents: { id: number; component: string; minutes: number | null; notes: { text: string }[] }[];
}

/** Advances the clock until the status page shows something. */
async function until(isShown: (status: StatusJson) => boolean): Promise<StatusJson> {
  let status = await json();
  await expect
    .poll(
      async () => {
        souk.clock.advance(5_000);
        status = await json();
        return isShown(status);
      },
      { timeout: 60_000 },
    )
    .toBe(true);
  return status;
}

test('shows failed calls as an incident of the source and the pool, until they end', async ({
  client,
  upstream,
}) => {
  upstream.on('product', () => ({ status: 500, json: {} }));
  const calls = Array.from({ length: 6 }, (_, i) => `/api/market/product?country=us&asins=B00000000${i}`);
  const replies = Promise.all(calls.map((path) => client.get(path)));
  const failing = await until(({ status }) => status === 'outage');
  const levels = new Map(failing.components.map(({ id, status }) => [id, status]));
  for (const { status } of await replies) expect(status).toBe(502);
  expect([levels.get('upstream:products'), levels.get('pool:market'), levels.get('api')]).toEqual([
    'outage',
    'outage',
    'operational',
  ]);
  const page = await visitor().get('/status');
  expect(page.text).toContain('Some components have an outage.');
  expect(page.text).toMatch(
    /Source of product data Outage In progress 2026-03-04 10:\d\d UTC to now\. Affected:/,
  );

  const ended = await until(({ incidents }) => incidents.every(({ minutes }) => minutes !== null));
  expect(ended.status).toBe('operational');
  expect(ended.incidents.map(({ component }) => component).sort()).toEqual([
    'pool:market',
    'upstream:products',
  ]);
  const source = ended.components.find(({ id }) => id === 'upstream:products');
  expect([source?.days.length, source?.days.at(-1)?.level]).toEqual([90, 'outage']);
  expect(source?.uptime).toBeLessThan(1);
});

test('names no provider, account or call', async () => {
  const { text } = await souk.clientOf('').raw('/status.json');
  const { html } = await visitor().get('/status');
  const { rows } = await souk.database.query<{ id: number }>('select max(id) as id from accounts');
  expect(rows[0]?.id).toBeGreaterThan(0);
  for (const public_ of [text, html])
    expect(public_).not.toMatch(/keepa|google|amazon|accountId|127\.0\.0\.1/i);
});

test("shows the operator's note to an incident, with its text escaped", async () => {
  const id = (await json()).incidents[0]?.id;
  await operator.get('/admin/incidents');
  const page = await operator.post('/admin/incidents', {
    id: String(id),
    text: '<b>The source was slow.</b>',
  });
  expect(page.status).toBe(200);
  const { html } = await visitor().get('/status');
  expect(html).toContain('&lt;b>The source was slow.&lt;/b>');
  await operator.get('/admin/incidents');
  expect((await operator.post('/admin/incidents', { id: '999999', text: 'x' })).status).toBe(404);
});

test('answers from memory while PostgreSQL does not, and says that the state is the last known', async () => {
  const locker = await souk.database.connect();
  try {
    await locker.query('begin; lock table incidents in access exclusive mode');
    expect((await visitor().get('/status')).status).toBe(200);
    souk.clock.advance(2 * MINUTE_MS);
    const page = await visitor().get('/status');
    expect(page.text).toMatch(/No new measurements have arrived since 2026-03-04/);
    expect(await json()).toMatchObject({ status: 'outage', lastKnown: true });
  } finally {
    await locker.query('rollback');
    locker.release();
  }
  expect((await until(({ lastKnown }) => !lastKnown)).status).toBe('operational');
});

const ANNOUNCEMENT = {
  text: 'Maintenance <tonight>',
  link: '/docs',
  level: 'warning',
  audience: 'everyone',
  from: '',
};
const laterThan = (ms: number) => new Date(souk.clock.now() + ms).toISOString();

async function announce(
  fields: Partial<Record<keyof typeof ANNOUNCEMENT | 'until', string>> = {},
): Promise<void> {
  await operator.get('/admin/announcements');
  const page = await operator.post('/admin/announcements', {
    ...ANNOUNCEMENT,
    until: laterThan(60 * MINUTE_MS),
    ...fields,
  });
  expect(page.status).toBe(200);
}

async function endAll(): Promise<void> {
  const { html } = await operator.get('/admin/announcements');
  for (const [path] of html.matchAll(/\/admin\/announcements\/\d+\/end/g)) await operator.post(path, {});
}

test('shows an announcement on pages, documents and the status page, until a visitor dismisses it', async () => {
  await announce();
  const who = visitor();
  const paths = ['/', '/sign-in', '/docs', '/docs/api', '/status', '/nowhere'];
  for (const path of paths) {
    const { html } = await who.get(path);
    expect([path, html]).toEqual([
      path,
      expect.stringContaining('Warning: </strong>Maintenance &lt;tonight>'),
    ]);
  }
  const [action = ''] = /\/announcements\/\d+\/dismiss/.exec((await who.get('/docs')).html) ?? [];
  const { baseUrl } = souk.clientOf('');
  const reply = await souk.clientOf('').raw(action, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', referer: `${baseUrl}/docs?q=1` },
  });
  expect([reply.status, reply.headers.location]).toEqual([303, '/docs?q=1']);
  expect(String(reply.headers['set-cookie'])).toMatch(
    /^souk_dismissed=\d+; Max-Age=7776000; Path=\/; HttpOnly; SameSite=Lax$/,
  );
  await who.send(action, {});
  for (const path of paths) expect((await who.get(path)).html).not.toContain('Maintenance');
  expect((await visitor().get('/')).html).toContain('Maintenance');
  await endAll();
  expect((await visitor().get('/')).html).not.toContain('Maintenance');
});

test('dismissing redirects only to pages of this host', async () => {
  for (const referer of [
    'https://evil.example/x',
    'nonsense',
    `${souk.clientOf('').baseUrl}//evil.example`,
  ]) {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', referer };
    const reply = await souk.clientOf('').raw('/announcements/1/dismiss', { method: 'POST', headers });
    expect(reply.headers.location).toBe('/');
  }
});

test('shows an announcement for signed-in customers to them only, from its start to its end', async () => {
  const customer = await signUp(souk, 'ann@news.example');
  await announce({ audience: 'signed-in', from: laterThan(MINUTE_MS) });
  const seenBy = async (who: Visitor) => (await who.get('/docs')).html.includes('Maintenance');
  expect(await seenBy(customer)).toBe(false);
  souk.clock.advance(2 * MINUTE_MS);
  expect([await seenBy(customer), await seenBy(visitor())]).toEqual([true, false]);
  souk.clock.advance(60 * MINUTE_MS);
  expect(await seenBy(customer)).toBe(false);
});

test('the command announces, and this gateway shows it within 30 seconds', async () => {
  const command = soukCommand({ DATABASE_URL: souk.databaseUrl });
  await command.text([
    'announce',
    '--text',
    'From the command',
    '--until',
    '2099-01-01',
    '--from',
    '2020-01-01',
  ]);
  await expect
    .poll(async () => {
      souk.clock.advance(15_000);
      return (await visitor().get('/')).html.includes('From the command');
    })
    .toBe(true);
  const [{ id }] = await command.json('announcements list');
  await command.text(`announcements end ${id}`);
  expect((await command.run(`announcements end ${id}`)).stderr).toMatch(/does not exist or has ended/);
});

test.for([
  ['an empty text', { text: ' ' }, 'is required'],
  ['a long text', { text: 'x'.repeat(501) }, 'must have at most 500 characters'],
  ['a script as its link', { link: 'javascript:alert(1)' }, 'must be an address such as'],
  ['a link to another host without a scheme', { link: '//evil.example' }, 'must be an address such as'],
  ['an end before its start', { from: '2026-04-01', until: '2026-03-31' }, 'must be after the start'],
] as const)('refuses an announcement with %s', async ([, fields, fault]) => {
  await operator.get('/admin/announcements');
  const page = await operator.post('/admin/announcements', {
    ...ANNOUNCEMENT,
    until: laterThan(MINUTE_MS),
    ...fields,
  });
  expectPage(page, 400, fault);
});

test('the status page is for browsers without a session, and is revalidated by them', async () => {
  const { status, headers } = await souk.clientOf('').raw('/status', BROWSER);
  expect([status, headers['cache-control'], headers['set-cookie']]).toEqual([200, 'no-cache', undefined]);
  expect((await souk.clientOf('').raw('/status.json')).headers['cache-control']).toBe('public, max-age=15');
});
