import { expect } from 'vitest';
import { DAY_MS } from '../../../../src/platform/durations.ts';
import { MOST_CHART_LINKS, purgeChartLinks } from '../../../../src/results/chart-links.ts';
import { type Customer, PAGES, signedIn } from '../../../support/customer.ts';
import { answersAsDemo } from '../../../support/demo-upstream.ts';
import type { Souk } from '../../../support/souk.ts';
import { test } from '../../../support/souk-test.ts';
import { unitsUsed } from '../../../support/units.ts';

const ASIN = 'B0C3CDEF01';

test.override('soukOptions', { pages: PAGES });
let souk: Souk;
let customer: Customer;

test.beforeAll(async ({ souk: opened, demo }) => {
  souk = opened;
  answersAsDemo(souk.upstream, demo);
});

test.beforeEach(async () => {
  customer = await signedIn(souk);
});

/** The fields of the page of a product that has been fetched. */
async function shownProduct(): Promise<Record<string, string>> {
  const { visitor } = customer;
  await visitor.get(`/explore/product?domain=1&asin=${ASIN}`);
  const page = await visitor.post('/explore/product', { domain: '1', asin: ASIN, view: 'product' });
  expect(page.text).toContain('Share this chart by a link');
  return Object.fromEntries(new URL(page.path, 'http://souk').searchParams);
}

async function share(linkDays = '7'): Promise<string> {
  const fields = await shownProduct();
  const page = await customer.visitor.post('/explore/product', {
    ...fields,
    view: 'product',
    intent: 'share',
    linkDays,
  });
  const [, path = ''] = /(\/charts\/[\w-]{43})</.exec(page.html) ?? [];
  return path;
}

const seen = (path: string) => souk.clientOf('').raw(path);

test('a link shows the chart and the figures of its moment to everybody, and calls nothing', async () => {
  const path = await share();
  const before = await unitsUsed(customer.client);
  const { status, headers, text } = await seen(path);
  expect(status).toBe(200);
  expect(headers['x-robots-tag']).toBe('noindex, nofollow');
  expect(headers['referrer-policy']).toBe('no-referrer');
  expect(headers['cache-control']).toBe('no-store');
  for (const part of [
    'Average price, 90 days',
    'Sales rank now',
    'data-chart=',
    'price.average90',
    'This link works until',
  ])
    expect(text).toContain(part);
  const { rows } = await souk.database.query<{ name: string; email: string }>(
    'select a.name, o.email from accounts a join account_owners o on o.account_id = a.id order by a.id desc limit 1',
  );
  for (const secret of [rows[0]?.name, rows[0]?.email, 'unit charged', '/account/'])
    expect(text).not.toContain(secret ?? 'unknown');
  expect(await unitsUsed(customer.client)).toBe(before);
});

test('only the digest of a token is stored', async () => {
  const token = (await share()).split('/').at(-1);
  const { rows } = await souk.database.query<{ row: string }>(
    'select to_jsonb(l)::text as row from chart_links l',
  );
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.filter(({ row }) => row.includes(token ?? ''))).toEqual([]);
});

test('a link is listed, and ends when it is revoked', async () => {
  const path = await share('365');
  const { visitor } = customer;
  const list = await visitor.get('/account/charts');
  expect(list.text).toContain('Greenlock Premium Grow Light');
  const [, revoke = ''] = /action="([^"]+\/revoke)"/.exec(list.html) ?? [];
  await (await signedIn(souk)).visitor.get('/account/charts');
  const after = await visitor.post(revoke.replace(/^\/account\/\d+/, '/account'), {});
  expect(after.text).toContain('No links to charts.');
  expect((await seen(path)).status).toBe(404);
});

test('another account cannot revoke a link', async () => {
  const path = await share();
  const list = await customer.visitor.get('/account/charts');
  const [, id = ''] = /charts\/([\da-f-]{36})\/revoke/.exec(list.html) ?? [];
  const other = await signedIn(souk);
  await other.visitor.get('/account/charts');
  for (const one of [id, 'x']) {
    const { status } = await other.visitor.post(`/account/charts/${one}/revoke`, {});
    expect([one, status]).toEqual([one, 404]);
  }
  expect((await seen(path)).status).toBe(200);
});

test('a link ends at its time, and with the membership of its person', async () => {
  const [first, second] = [await share('1'), await share('7')];
  souk.clock.advance(DAY_MS + 1);
  expect([(await seen(first)).status, (await seen(second)).status]).toEqual([404, 200]);
  await purgeChartLinks(souk.database, new Date(souk.clock.now()));
  const { rows } = await souk.database.query<{ accountId: number; personId: number; count: number }>(
    `select account_id as "accountId", person_id as "personId", count(*)::integer as count from chart_links
     group by 1, 2 order by 1 desc limit 1`,
  );
  const [owner] = rows;
  expect(owner?.count).toBe(1);
  await souk.database.query('delete from members where account_id = $1 and person_id = $2', [
    owner?.accountId,
    owner?.personId,
  ]);
  expect((await seen(second)).status).toBe(404);
});

test('a duration that is not offered, and a link beyond the limit, are refused', async () => {
  expect(await share('9999')).toBe('');
  await share();
  await souk.database.query(
    `insert into chart_links (id, account_id, person_id, token_hash, title, content, created_at, expires_at)
     select gen_random_uuid(), account_id, person_id, sha256(n::text::bytea), title, content, created_at, expires_at
     from (select * from chart_links order by id desc limit 1) l, generate_series(2, $1::integer) n`,
    [MOST_CHART_LINKS],
  );
  expect(await share()).toBe('');
});

test.for(['x', 'a'.repeat(43), `${'a'.repeat(43)}?x=1`])('returns 404 for the token %s', async (token) => {
  expect((await seen(`/charts/${token}`)).status).toBe(404);
});
