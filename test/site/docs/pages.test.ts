import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GUIDES } from '../../../src/site/docs/guides.ts';
import { expectAccessible, expectUsable } from '../../support/accessibility.ts';
import {
  describeInBrowser,
  faultsOf,
  openBrowser,
  outsideRequests,
  type Page,
  type TestBrowser,
} from '../../support/browser.ts';
import type { Client } from '../../support/client.ts';
import { type Demo, openDemo } from '../../support/demo-provider.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { unitsUsed } from '../../support/units.ts';

const ADDRESSES = ['/docs', ...GUIDES.map(({ slug }) => `/docs/${slug}`), '/docs/api'];

let demo: Demo;
let souk: Souk;
let client: Client;
beforeAll(async () => {
  demo = await openDemo();
  souk = await openSouk({ upstreamUrl: demo.url });
  client = await souk.client();
});
afterAll(async () => {
  await souk.close();
  await demo.close();
});

describe.each(ADDRESSES)('%s', (address) => {
  test('is sent without a key, under a policy without inline scripts and styles, and once a version', async () => {
    const { status, headers } = await client.raw(address);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-security-policy']).toContain("script-src 'self';");
    expect(headers['content-security-policy']).not.toContain('unsafe');
    const etag = headers.etag ?? '';
    const again = await client.raw(address, { headers: { 'if-none-match': etag } });
    expect({ status: again.status, bytes: again.body.length }).toEqual({ status: 304, bytes: 0 });
  });

  test('takes no other methods', async () => {
    const { status, json } = await client.raw(address, { method: 'POST' });
    expect({ status, code: json.code }).toEqual({ status: 405, code: 'METHOD_NOT_ALLOWED' });
  });
});

test('there is no page for a guide that does not exist', async () => {
  expect(await client.raw('/docs/nowhere')).toMatchObject({ status: 404, json: { code: 'NOT_FOUND' } });
});

describeInBrowser('in a browser', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  test.each(ADDRESSES)('%s loads from here alone, without an error, and is accessible', async (address) => {
    const page = await browser.page({ baseURL: client.baseUrl });
    await page.goto(address);
    if (address === '/docs/api') await page.waitForSelector('.opblock-tag');
    await expectUsable(page, address.slice(1).replaceAll('/', '-'));
    await page.close();
  });

  test('examples name the address of the service they are read on', async () => {
    const page = await browser.page({ baseURL: client.baseUrl });
    await page.goto('/docs/first-call');
    await page.getByText(`SOUK_URL=${client.baseUrl}`).waitFor();
    await page.close();
  });

  test('the keyboard reaches the content, and from there every example that scrolls', async () => {
    const page = await browser.page({ baseURL: client.baseUrl });
    await page.goto('/docs/first-call');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    const unreachable =
      "[...document.querySelectorAll('pre, .table')].filter((one) => one.tabIndex < 0).length";
    expect(await page.evaluate(unreachable)).toBe(0);
    await page.close();
  });

  // Swagger UI takes its time on a busy machine.
  describe('the reference', { timeout: 240_000 }, () => {
    let page: Page;
    beforeAll(async () => {
      page = await browser.page({ baseURL: client.baseUrl });
      await page.goto('/docs/api#/market');
      await page.locator('.opblock-tag').first().waitFor();
    });
    afterAll(() => page.close());

    test('makes a real call with the key of the customer', async () => {
      await authorize(page, client.key);
      const before = await unitsUsed(client);
      await openOperation(page, 'get', '/api/market/product');
      await page.getByRole('button', { name: 'Execute' }).click();
      const answer = page.locator('.live-responses-table .response').first();
      // Colours cut the text into pieces.
      await expect.poll(() => answer.textContent()).toContain('"code": "0000"');
      expect(await answer.textContent()).toContain('B08N5WRWNX');
      expect(await answer.textContent()).toContain('x-units-consumed: 1');
      expect((await unitsUsed(client)) - before).toBe(1);
      expect(faultsOf(page).errors).toEqual([]);
      expect(outsideRequests(page)).toEqual([]);
    });

    test('sends what was filled in, and of what is optional nothing', async () => {
      const calls = faultsOf(page).requests.filter((url) => url.includes('/api/market/product'));
      const [query] = calls.map((url) => Object.fromEntries(new URL(url).searchParams));
      expect(query).toMatchObject({ domain: '1', asins: 'B08N5WRWNX' });
      for (const name of ['async', 'maxUnits', 'country', 'days', 'key'])
        expect(query).not.toHaveProperty(name);
    });

    test('can be used by everybody with an operation open, as far as that is in our hands', async () => {
      const opened = await browser.page({ baseURL: client.baseUrl });
      await opened.goto('/docs/api#/service');
      await openOperation(opened, 'get', '/healthz');
      await opened.getByRole('button', { name: 'Execute' }).waitFor();
      // What Swagger UI itself writes so.
      const withoutRules = ['nested-interactive', 'select-name', 'scrollable-region-focusable'];
      await expectAccessible(opened, { withoutRules });
      await opened.close();
    });

    test('has forgotten the key when it is loaded again', async () => {
      await page.reload();
      await page.locator('.opblock-tag').first().waitFor();
      const kept = 'JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie';
      expect(await page.evaluate(kept)).not.toContain(client.key);
      await page.locator('.btn.authorize.unlocked').waitFor();
    });
  });
});

async function authorize(page: Page, key: string): Promise<void> {
  await page.getByRole('button', { name: 'Authorize' }).click();
  const dialog = page.locator('.modal-ux');
  await dialog.getByRole('textbox').fill(key);
  await dialog.locator('button.authorize').click();
  await dialog.locator('button.btn-done').click();
}

async function openOperation(page: Page, method: string, path: string): Promise<void> {
  const operation = page.locator(`.opblock-${method}`, { has: page.locator(`[data-path="${path}"]`) });
  await operation.locator('.opblock-summary-control').click();
}
