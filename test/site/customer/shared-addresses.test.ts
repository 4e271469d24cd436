import { expect } from 'vitest';
import { describeInBrowser } from '../../support/browser.ts';
import { type Customer, expectPage, join, PAGES, signedIn } from '../../support/customer.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';
import { createVisitor } from '../../support/visitor.ts';

// What one member of an account sees, another one sees at the same address, in each of the accounts of that person.

test.override('soukOptions', ({ demo }) => ({ pages: PAGES, upstreamUrl: demo.url }));

let souk: Souk;
let owner: Customer;
/** A member of the account of the owner, with another account. */
let colleague: Customer;
let address: string;

const inAccount = (path: string, accountId: number) =>
  path.replace(/^\/account\/\d+/, `/account/${accountId}`);

test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  owner = await signedIn(souk);
  colleague = await signedIn(souk);
  await join(souk, { accountId: owner.accountId, personId: colleague.personId, role: 'viewer' });
  const fields = { domain: '1', asin: 'B0C3CDEF01', view: 'product', range: '30' };
  await owner.visitor.get('/explore/product');
  address = (await owner.visitor.post('/explore/product', fields)).address;
});

test('shows a colleague the same data without a further charge', async () => {
  expect(address).toMatch(new RegExp(`^/account/${owner.accountId}/explore/product\\?.*range=30.*product=`));
  const own = await owner.visitor.get(address);
  expect(own.text).toContain('1 unit charged');
  const used = await unitsUsed(owner.client);
  const page = await colleague.visitor.get(address);
  expect(page.status).toBe(200);
  expect(/data-chart="([^"]+)"/.exec(page.html)?.[1]).toBe(/data-chart="([^"]+)"/.exec(own.html)?.[1]);
  expect(await unitsUsed(owner.client)).toBe(used);
});

test('offers the account that has the data, if another one is open', async () => {
  const page = await colleague.visitor.get(inAccount(address, colleague.accountId));
  expect(page.text).toContain('This answer has expired, or it belongs to another of your accounts:');
  expect(page.sentHtml).toContain(`href="/account/${owner.accountId}/explore/product?`);
});

test.each(['jobs', 'batches', 'trackers', 'schedules'])(
  'offers the other accounts of a person for one of the %s that an account does not have',
  async (things) => {
    const path = `/${things}/019b2c3d-4e5f-7a6b-8c7d-9e0f1a2b3c4d?tab=1`;
    const page = await colleague.visitor.get(`/account/${colleague.accountId}${path}`);
    expect(page.status).toBe(404);
    expect(page.sentHtml).toContain(`href="/account/${owner.accountId}${path}"`);
  },
);

test('offers a person without access to an account the own accounts, and names no other', async () => {
  const stranger = await signedIn(souk);
  const path = `/jobs/019b2c3d-4e5f-7a6b-8c7d-9e0f1a2b3c4d`;
  const page = await stranger.visitor.get(`/account/${owner.accountId}${path}`);
  expectPage(page, 404, 'no such account among yours');
  expect(page.sentHtml).toContain(`href="/account/${stranger.accountId}${path}"`);
  expect(page.sentHtml).not.toContain(`/account/${owner.accountId}/`);
  const unknown = await stranger.visitor.get(`/account/${stranger.accountId}/nowhere`);
  expect([unknown.status, unknown.text]).toEqual([
    404,
    expect.not.stringContaining('another of your accounts'),
  ]);
});

test('opens another account instead of one that was disabled, whose page offers the others', async () => {
  const member = await signedIn(souk);
  const disabled = await souk.account();
  await join(souk, { accountId: disabled.accountId, personId: member.personId, role: 'viewer' });
  const path = `/account/${disabled.accountId}/keys`;
  expect((await member.visitor.get(path)).address).toBe(path);
  await souk.database.query("update accounts set state = 'disabled' where id = $1", [disabled.accountId]);
  const page = await member.visitor.get(path);
  expectPage(page, 403, 'This account is disabled');
  expect(page.sentHtml).toContain(`href="/account/${member.accountId}/keys"`);
  const browser = createVisitor(souk.clientOf('').baseUrl);
  browser.cookies.set(member.cookie.name, member.cookie.value);
  expect((await browser.get('/account/keys')).address).toBe(`/account/${member.accountId}/keys`);
});

describeInBrowser('in a browser', () => {
  test('a chart shows the period and the lines that its address names', async ({ openPage }) => {
    const open = async ({ cookie: session }: Customer, path: string) => {
      const page = await openPage({ session });
      await page.goto(path);
      await page.locator('.time-chart canvas').waitFor();
      return page;
    };
    const page = await open(owner, address);
    const pressed = '.time-chart [data-days][aria-pressed=true]';
    expect(await page.locator(pressed).textContent()).toBe('Month');
    await page.getByRole('button', { name: '6 months' }).click();
    await page.getByRole('checkbox', { name: /New offers/ }).check();
    await page.getByRole('checkbox', { name: /Sales rank/ }).uncheck();
    const changed = new URL(page.url());
    expect([changed.searchParams.get('range'), changed.searchParams.get('lines')]).toEqual(['182', '0.2']);
    const other = await open(colleague, `${changed.pathname}${changed.search}`);
    expect(await other.locator(pressed).textContent()).toBe('6 months');
    expect(await other.getByRole('checkbox', { name: /New offers/ }).isChecked()).toBe(true);
    expect(await other.getByRole('checkbox', { name: /Sales rank/ }).isChecked()).toBe(false);
    await other.locator('.time-chart-plot').focus();
    await other.keyboard.press('+');
    expect(new URL(other.url()).searchParams.get('range')).toMatch(/^[\dT:Z-]+~[\dT:Z-]+$/);
  });
});
