import { expect } from 'vitest';
import { ensureStandardPlans } from '../../src/billing/standard-plans.ts';
import { describeInBrowser, faultsOf, type Page } from '../support/browser.ts';
import { type Customer, PAGES, signedIn } from '../support/customer.ts';
import { type Keyboard, keyboardOf } from '../support/keyboard.ts';
import { csvReport, load, ranked } from '../support/reports.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', ({ demo }) => ({ upstreamUrl: demo.url, testUrl: demo.url, pages: PAGES }));
let souk: Souk;
let customer: Customer;
let page: Page;
let keys: Keyboard;

test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  await ensureStandardPlans(souk.database);
  customer = await signedIn(souk);
  await load(souk.database, 'us', csvReport('2026-01-17', ranked('tent', 'boat')));
});

/** The button of a form. Its address begins with the account of the page. */
const sends = (path: string) => `form[action$="${path}"] button[type=submit]`;

describeInBrowser('with the keyboard alone', () => {
  test.beforeEach(async ({ openPage }) => {
    page = await openPage({ session: customer.cookie });
    keys = keyboardOf(page);
    const picture = { body: '<svg xmlns="http://www.w3.org/2000/svg"/>', contentType: 'image/svg+xml' };
    await page.route('https://images.test/**', (route) => route.fulfill(picture));
    return async () => {
      expect(faultsOf(page).errors).toEqual([]);
      await page.context().close();
    };
  });

  /** Opens a page and goes to its content. */
  async function at(address: string): Promise<void> {
    await page.goto(address);
    await keys.skip();
  }

  test('a visitor signs up, sees a chart with test data, buys a plan and makes a key', {
    timeout: 300_000,
  }, async () => {
    await page.context().clearCookies();
    await at('/');
    await keys.tabTo('.hero a[href^="/sign-up"]', 3);
    await keys.press('Enter');
    await page.waitForURL('**/sign-up');
    await keys.skip();
    await keys.tabTo('[name=email]');
    await keys.type('keys@people.example');
    await keys.tabTo('[name=name]', 1);
    await keys.type('Keys & Co');
    await keys.tabTo('[name=password]', 1);
    await keys.type('correct horse battery');
    await keys.press('Enter');
    await page.getByRole('heading', { name: 'First steps' }).waitFor();

    await keys.skip();
    await keys.tabTo(sends('/test-data'));
    await keys.press('Enter');
    await page.waitForURL('**/explore/product**');
    await keys.skip();
    await keys.tabTo('#product button[type=submit]', 8);
    await keys.press('Enter');
    await page.locator('#product .time-chart[data-drawn-ms]').waitFor();
    await keys.isAt('#product');
    await keys.tabTo('.time-chart-plot');
    const plot = page.locator('.time-chart-plot');
    const latest = await plot.getAttribute('aria-valuetext');
    await keys.press('ArrowLeft');
    await expect.poll(() => plot.getAttribute('aria-valuetext')).not.toBe(latest);

    await page.goto('/account');
    await keys.tabTo('.main-nav a[href$="/plans"]', 30);
    await keys.press('Enter');
    await page.waitForURL('**/plans');
    await keys.skip();
    await keys.tabTo('a[href*="kind=plan&code=basic"]');
    await keys.press('Enter');
    await page.waitForURL('**/checkout**');
    await keys.skip();
    await keys.tabTo('[name=quantity]');
    await keys.press('ArrowUp');
    await expect.poll(() => page.locator('output[data-price-cents]').textContent()).toBe('$58.00');
    await keys.tabTo(`${sends('/checkout')}.primary`, 6);
    await keys.press('Enter');
    await page.getByRole('heading', { name: 'Purchase complete' }).waitFor();
    await keys.isAt('.notice.good');

    await at('/account/keys');
    await keys.tabTo('a[href$="/keys/new"]');
    await keys.press('Enter');
    await page.waitForURL('**/keys/new');
    await keys.skip();
    await keys.tabTo('[name=name]');
    await keys.type('Dashboard');
    await keys.press('Enter');
    await page.locator('#new-key').waitFor();
    await keys.isAt('.notice.good');
    await keys.tabTo('[data-copy=new-key]', 1);
  });

  test('pasted values become a batch, after a look at its price', async () => {
    await at('/account/batches/new');
    await keys.tabTo('[name=items]');
    await keys.type('B0C3CDEF01\nB0C3CDEF02\n');
    await keys.tabTo('button[value=price]');
    await keys.press('Enter');
    await keys.isAt('output.notice');
    await keys.tabTo('button[value=start]');
    await keys.press('Enter');
    await page.waitForURL(/\/batches\/[\da-f-]{36}$/);
  });

  test('a schedule is made from a preset, paused, and deleted after a question that returns the focus', async () => {
    await at('/account/schedules/new');
    await keys.tabTo('fieldset [name=name]');
    await keys.type('From the keyboard');
    await keys.tabTo('[name=times]', 1);
    await keys.type('Every d');
    expect(await page.locator('[name=times]').inputValue()).toBe('daily');
    await keys.tabTo('[name=at]', 1);
    await keys.type('0730AM');
    await keys.tabTo('[name=items]');
    await keys.type('B0C3CDEF01');
    await keys.tabTo('button[value=check]');
    await keys.press('Enter');
    await keys.isAt('[aria-labelledby=check]');
    expect(await page.locator('[aria-labelledby=check]').textContent()).toContain('07:30');
    await keys.tabTo('button[value=save]', 30);
    await keys.press('Enter');
    await page.getByRole('heading', { name: 'From the keyboard' }).waitFor();
    await keys.skip();
    await keys.tabTo(sends('/pause'));
    await keys.press('Enter');
    await keys.isAt(sends('/resume'));
    await keys.tabTo(sends('/delete'), 2);
    const questions: string[] = [];
    for (const isMeant of [false, true]) {
      page.once('dialog', (dialog) => {
        questions.push(dialog.message());
        void (isMeant ? dialog.accept() : dialog.dismiss());
      });
      await keys.press('Enter');
      if (!isMeant) await keys.isAt(sends('/delete'));
    }
    await page.waitForURL('**/schedules');
    expect(questions).toHaveLength(2);
  });

  test('a form with a fault opens at the field', async () => {
    await at('/account/schedules/new');
    await keys.tabTo('[name=items]');
    await keys.type('TOOSHORT');
    await keys.tabTo('button[value=save]');
    await keys.press('Enter');
    await keys.isAt('[aria-invalid=true], .notice.bad');
    faultsOf(page).errors.length = 0;
    await keys.tabTo('button[value=save]', 30);
    // The fixed header covers nothing on the way back.
    await keys.backTo('[name=name]', 40);
  });

  test('a product is tracked from its page', async () => {
    await at('/explore/product?domain=1&asin=B0C3CDEF01');
    await keys.tabTo('#product button[type=submit]', 8);
    await keys.press('Enter');
    await page.locator('#product .time-chart[data-drawn-ms]').waitFor();
    await keys.isAt('#product');
    await keys.tabTo('#product a[href*="/trackers/new"]');
    await keys.press('Enter');
    await page.waitForURL('**/trackers/new**');
    await keys.skip();
    await keys.tabTo('[name=value1]');
    await keys.press('Control+A');
    await keys.type('19.99');
    await keys.tabTo('button[value=save]', 30);
    await keys.press('Enter');
    await page.waitForURL(/\/trackers\/[\da-f-]{36}$/);
  });

  test('a call is found by its parameters, opened and run again', async () => {
    await customer.client.get('/api/market/product?domain=1&asins=B0C3CDEF09&detailLevel=summary');
    await at('/account/jobs');
    await keys.tabTo('[name=contains]');
    await keys.type('B0C3CDEF09');
    await keys.press('Enter');
    await page.waitForURL('**contains=B0C3CDEF09**');
    await keys.isAt('form.filters button');
    await keys.tabTo('#jobs td a', 4);
    await keys.press('Enter');
    await page.waitForURL(/\/jobs\/[\da-f-]{36}$/);
    await keys.skip();
    await keys.tabTo(sends('/again'));
    const sent = page.waitForResponse((response) => response.url().endsWith('/again'));
    await keys.press('Enter');
    expect((await sent).status()).toBe(303);
    await page.locator('#answer').waitFor();
  });

  test('a webhook gets a secret and a test event', async () => {
    await at('/account/webhooks');
    await keys.tabTo(sends('/webhooks/secret'));
    await keys.press('Enter');
    await keys.isAt('.notice.good');
    await keys.tabTo('[name=url]');
    await keys.type('https://receiver.example/hook');
    await keys.press('Enter');
    await page.waitForURL('**/webhooks/deliveries/*');
  });

  test('/ and Ctrl-K lead to the search, and it to a page of the documents', async () => {
    await at('/account/batches/new');
    await keys.press('/');
    await keys.isAt('[data-search-box]');
    await keys.type('webhooks');
    await keys.press('Enter');
    await page.waitForURL('**/search?q=webhooks');
    await keys.skip();
    await keys.tabTo('a[href^="/docs/webhooks"]');
    await keys.press('Enter');
    await page.waitForURL('**/docs/webhooks**');
    await at('/account/batches/new');
    await keys.tabTo('[name=items]');
    // In a text, the key is a character.
    await keys.type('/');
    await keys.isAt('[name=items]');
    await keys.press('Control+k');
    await keys.isAt('[data-search-box]');
  });

  test('a screen has filters, and is saved', async () => {
    await at('/explore/screener');
    await keys.tabTo('[name=words]');
    await keys.type('tent');
    await keys.press('Enter');
    await page.waitForURL('**words=tent**');
    await keys.isAt('form.filters button');
    await keys.tabTo('#terms button', 3);
    await keys.press('Enter');
    await page.locator('#terms table').waitFor();
    await keys.isAt('#terms');
    await keys.tabTo('#terms details:has([name=chat]) summary', 12);
    await keys.press('Enter');
    await keys.tabTo('#terms [name=name]', 1);
    await keys.press('Enter');
    await page.waitForURL(/\/trackers\/[\da-f-]{36}$/);
  });

  test('at 390 px the menu opens, leads to a page, and returns the focus when it is left', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto('/account');
    await keys.tabTo('.menu-button', 4);
    await keys.press('Enter');
    await keys.isAt('.menu-button');
    await keys.tabTo('.main-nav a', 1);
    await keys.press('Escape');
    await keys.isAt('.menu-button');
    await keys.press('Space');
    await keys.tabTo('.main-nav a[href$="/schedules"]');
    await keys.press('Enter');
    await page.waitForURL('**/schedules');
    await keys.skip();
    await keys.tabTo('a[href$="/schedules/new"]', 2);
    await keys.backTo('.menu-button', 6);
  });
});
