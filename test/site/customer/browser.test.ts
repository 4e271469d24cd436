import { request } from 'undici';
import { beforeEach, describe, expect } from 'vitest';
import { addressFor } from '../../../src/accounts/account-address.ts';
import { createAccountOf } from '../../../src/accounts/accounts.ts';
import { invite } from '../../../src/accounts/invitations.ts';
import { setMember } from '../../../src/accounts/members.ts';
import { createPerson } from '../../../src/accounts/people.ts';
import { grantPack } from '../../../src/billing/grants.ts';
import { inTransaction } from '../../../src/platform/db/transaction.ts';
import { expectAccessible, expectUsable } from '../../support/accessibility.ts';
import { describeInBrowser, faultsOf, type Page, screenshot } from '../../support/browser.ts';
import { type Customer, PAGES, signedIn } from '../../support/customer.ts';
import { registerProgram } from '../../support/oauth-program.ts';
import { comesAbout } from '../../support/schedules.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';

const DAY_MS = 86_400_000;
const MOST_BYTES = 100 * 1024;
const PICTURES = 'https://images.test';
/**
 * Texts with numbers of four digits and more without separators, outside code, addresses and names. Years have none; parameters, and
 * tables that are downloaded, have the values of the API.
 */
const BARE_NUMBERS = `[...document.querySelectorAll('main *')].filter((one) =>
  !one.closest('code, pre, time, option, textarea, title, noscript, .long-text, [id^="field-p."], [aria-label="First results"]'))
  .flatMap((one) => [...one.childNodes].filter((node) =>
  node.nodeType === Node.TEXT_NODE && /(?<![\\w.@:/?=-])(?!(?:19|20)\\d\\d(?!\\d))\\d{4,}(?![\\w@:/])/.test(node.data)).map((node) => node.data))`;

test.override('soukOptions', ({ demo }) => ({ upstreamUrl: demo.url, pages: PAGES }));
let souk: Souk;
let customer: Customer;
/** Addresses of pages with data, by the name of their screenshot. */
const addresses: Record<string, string> = {
  home: '/',
  pricing: '/pricing',
  usage: '/account/usage?days=90',
  'usage-week': '/account/usage?days=7&measure=calls',
  ledger: '/account/ledger',
  jobs: '/account/jobs',
  'job-errors': '/account/jobs/errors',
  keys: '/account/keys',
  batches: '/account/batches',
  'batch-new': '/account/batches/new',
  schedules: '/account/schedules',
  'schedule-new': '/account/schedules/new',
  trackers: '/account/trackers',
  'tracker-new': '/account/trackers/new',
  webhooks: '/account/webhooks',
  team: '/account/team',
  settings: '/account/settings',
  profile: '/profile',
  try: '/account/try',
  'try-finder': '/account/try?operation=market.productfinder',
};

test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  customer = await signedIn(souk, { plan: { dailyLimit: 20 } });
  const { client, accountId } = customer;
  const now = souk.clock.now();
  const pack = { accountId, wallet: 'general', rateLimitPerMinute: 600, units: 5_000 } as const;
  const validity = { validFrom: new Date(now - 1), validUntil: new Date(now + 90 * DAY_MS) };
  await grantPack(souk.database, { ...pack, ...validity }, now);
  const paths = [
    'product?domain=1&asins=B0C3CDEF01,B0C3CDEF02,B0C3CDEF03',
    'productsearch?domain=1&term=pump',
    'bestseller?domain=1&category=200000&perPage=10',
    'category?domain=1&category=0',
    'seller?domain=1&seller=AKT8ZJ45IBZW2X',
    'topseller?domain=1&perPage=5',
    'lightningdeal?domain=1',
  ];
  for (const path of paths) await client.get(`/api/market/${path}`);
  // The provider knows no such product.
  const failed = await client.get('/api/market/variations?country=us&asin=ZX00000000');
  expect(failed.status).toBeGreaterThanOrEqual(400);
  const program = await registerProgram(client.baseUrl);
  await program.connect(customer.visitor, { account: String(accountId) });
  await seedHistory(accountId);
  const batch = await client.post('/api/batches', {
    operation: 'market.product',
    name: 'Prices of the competition',
    params: { domain: 1 },
    split: { asins: ['B0C3CDEF04', 'B0C3CDEF05'] },
  });
  addresses.batch = `/account/batches/${batch.json.data.batchId}`;
  const picture = await client.get('/api/market/graphimage?domain=1&asin=B0C3CDEF01');
  addresses.job = `/account/jobs/${picture.headers['x-job-id']}`;
  const schedule = await client.post('/api/schedules', {
    name: 'Every Monday',
    cron: '0 6 * * 1',
    timezone: 'Europe/Berlin',
    batch: { operation: 'market.product', params: { domain: 1 }, split: { asins: ['B0C3CDEF04'] } },
  });
  addresses.schedule = `/account/schedules/${schedule.json.data.scheduleId}`;
  addresses['schedule-edit'] = `${addresses.schedule}/edit`;
  const tracker = await client.post('/api/trackers', {
    name: 'Cheap pumps',
    cron: '0 6 * * *',
    domain: 1,
    asins: ['B0C3CDEF04'],
    conditions: [{ type: 'price_below', value: 1999 }],
  });
  const { trackerId, links } = tracker.json.data;
  addresses.tracker = `/account/trackers/${trackerId}`;
  await client.post(`/api/trackers/${trackerId}/run`, {});
  await comesAbout(souk, async () => (await client.get(links.self)).json.data.lastRun?.state === 'finished');
  await aTeam(accountId, now);
  await client.post('/api/webhooks/secret', {});
  const delivery = await client.post('/api/webhooks/test', { url: 'https://receiver.example/hook' });
  addresses.delivery = `/account/webhooks/deliveries/${delivery.json.data.deliveryId}`;
});

/** Two members, an invitation, and a second account of the owner. */
async function aTeam(accountId: number, now: number): Promise<void> {
  await inTransaction(souk.database, async (client) => {
    for (const [email, role] of [
      ['dora@team.example', 'developer'],
      ['bill@team.example', 'billing'],
    ] as const) {
      const person = await createPerson(client, { email, name: role }, now);
      await setMember(client, { accountId, personId: person?.id ?? 0, role }, now);
    }
    await invite(client, { accountId, email: 'vera@team.example', role: 'viewer', by: null }, now);
    await createAccountOf(client, customer.personId, 'Second account', now);
  });
}

/** Spreads copies of what was called over the last months, with more of it towards the end. */
async function seedHistory(accountId: number): Promise<void> {
  await souk.database.query(
    `insert into finished_calls select (jsonb_populate_record(c, jsonb_build_object(
         'id', gen_random_uuid(),
         'accepted_at', c.accepted_at - day * interval '1 day'))).*
     from finished_calls c cross join generate_series(1, 89) day
     cross join generate_series(1, 1 + (90 - day) * (5 + day % 7) / 200) copy
     where c.account_id = $1 and c.state = 'settled'`,
    [accountId],
  );
  await souk.database.query('delete from usage_days where account_id = $1', [accountId]);
  await souk.database.query(
    `insert into usage_days select account_id, (accepted_at at time zone 'UTC')::date, operation, count(*), sum(units_charged)
     from finished_calls where account_id = $1 group by 1, 2, 3`,
    [accountId],
  );
}

describe('the pages of a busy customer', () => {
  test('weigh less than 100 KiB with all assets', async () => {
    const { name, value } = customer.cookie;
    const bytesOf = async (path: string) => {
      const headers = { cookie: `${name}=${value}`, 'accept-encoding': 'gzip' };
      const { body, statusCode } = await request(`${customer.client.baseUrl}${path}`, { headers });
      expect({ path, statusCode }).toEqual({ path, statusCode: 200 });
      return (await body.arrayBuffer()).byteLength;
    };
    for (const path of Object.values(addresses)) {
      const { html } = await customer.visitor.get(path);
      const assets = [...html.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, asset = '']) => asset);
      expect(assets.length).toBeGreaterThan(2);
      let bytes = 0;
      const named = addressFor(customer.accountId, path);
      for (const address of [named, ...new Set(assets)]) bytes += await bytesOf(address);
      expect({ path, isLight: bytes < MOST_BYTES, bytes }).toMatchObject({ path, isLight: true });
    }
  });
});

describeInBrowser('in a browser', () => {
  // A page of each test would start a process and load the assets again.
  let page: Page;
  test.beforeAll(async ({ openPage }) => {
    page = await openPage({ session: customer.cookie });
    const picture = { body: '<svg xmlns="http://www.w3.org/2000/svg"/>', contentType: 'image/svg+xml' };
    await page.route(`${PICTURES}/**`, (route) => route.fulfill(picture));
  });
  beforeEach(async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: 'light' });
  });

  test('every page is accessible, as wide as the window, and separates the digits of numbers', {
    timeout: 300_000,
  }, async () => {
    const bare: string[] = [];
    for (const [name, address] of Object.entries(addresses)) {
      await page.goto(address);
      await expectUsable(page, `account-${name}`, [PICTURES]);
      for (const text of (await page.evaluate(BARE_NUMBERS)) as string[]) bare.push(`${name}: ${text}`);
    }
    expect(bare).toEqual([]);
  });

  test('the ledger at 390 px has each line as a card, and hides nothing outside the screen', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto('/account/ledger');
    const hidden = await page.evaluate(
      "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.table'))",
    );
    const change = page.getByRole('cell').and(page.locator('[data-label=Change]')).first();
    const { x = 0, width = 0 } = (await change.boundingBox()) ?? {};
    expect([hidden, width > 80, x + width < 390]).toEqual([0, true, true]);
  });

  test('at 390 px a menu has every entry and the settings, without scrolling; a wide window shows the entries', async () => {
    await page.goto('/account/keys');
    const entry = (name: string) => page.getByRole('link', { name, exact: true });
    const menu = page.getByRole('button', { name: 'Menu' });
    await entry('Webhooks').waitFor();
    expect([await menu.isVisible(), await entry('Settings').isVisible()]).toEqual([false, true]);
    await page.setViewportSize({ width: 390, height: 800 });
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await entry('Webhooks').isVisible()).toBe(false);
    await menu.click();
    const nav = page.getByRole('navigation', { name: 'Main' });
    expect(await nav.getByRole('link').count()).toBe(23);
    const hidden = await nav.evaluate(
      (one) => one.scrollWidth - one.clientWidth + one.scrollHeight - one.clientHeight,
    );
    const box = await nav.boundingBox();
    expect([hidden, (box?.x ?? -1) >= 0, (box?.x ?? 0) + (box?.width ?? 999) <= 390]).toEqual([
      0,
      true,
      true,
    ]);
    await expectAccessible(page);
    await screenshot(page, 'account-menu');
    await entry('Settings').click();
    await page.waitForURL('**/account/*/settings');
  });

  test('shows the price of a call, then its answer and a curl command', async () => {
    await page.goto('/account/try');
    await page.getByLabel('asins').fill('B0C3CDEF06');
    await page.getByRole('button', { name: 'Check cost' }).click();
    await page.getByText('At most 1 unit.').waitFor();
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByText('1 unit was charged.').waitFor();
    await page.getByText('"asin": "B0C3CDEF06"').first().waitFor();
    await page.getByText('Show as curl, TypeScript and Python').click();
    await page.getByText("curl -H 'X-API-Key: YOUR_KEY'").waitFor();
    await expectAccessible(page);
    await screenshot(page, 'account-try-answer');
    expect(faultsOf(page).errors).toEqual([]);
  });

  test('a new batch takes a file by the picker, and one that is dropped, and shows the price', async () => {
    const csv = 'Title,ASIN\nLamp,B0DROP0001\nPump,B0DROP0002\n';
    await page.goto('/account/batches/new');
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'products.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    await page.getByRole('button', { name: 'Check cost' }).click();
    await page.getByText('2 items of the column ASIN from products.csv').waitFor();
    await expectUsable(page, 'batch-from-file', [PICTURES]);

    await page.goto('/account/batches/new');
    const dropped = await page.evaluateHandle((content) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], 'dropped.csv', { type: 'text/csv' }));
      return transfer;
    }, csv);
    await page.dispatchEvent('body', 'drop', { dataTransfer: dropped });
    await page.getByText('2 items of the column ASIN from dropped.csv').waitFor();
    expect(await page.locator('textarea[name=items]').inputValue()).toBe('B0DROP0001\nB0DROP0002');
    expect(faultsOf(page).errors).toEqual([]);
  });

  test('a large answer is written by a script, with unchanged digits', async () => {
    await page.goto('/account/try');
    await page.getByLabel('asins').fill(Array.from({ length: 30 }, (_, i) => `B0C3CDEG${10 + i}`).join(', '));
    await page.getByText('more parameters').click();
    await page.getByLabel('detailLevel').selectOption('full');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    const written = page.locator('pre[data-answer]');
    await written.getByText('"code": "0000"').waitFor();
    const text = (await written.textContent()) ?? '';
    expect(text).toContain('\n        "asin": "B0C3CDEG10",');
    expect(text).toContain('more characters');
  });
});
