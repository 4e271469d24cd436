import { describe, expect } from 'vitest';
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
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const REFERENCE = '/docs/api';
const ADDRESSES = ['/docs', ...GUIDES.map(({ slug }) => `/docs/${slug}`)];

test.override('soukOptions', ({ demo }) => ({ upstreamUrl: demo.url }));

describe.each([...ADDRESSES, REFERENCE])('%s', (address) => {
  test('returns 200 without a key, with a policy that forbids inline scripts and styles, and 304 for the same version', async ({
    client,
  }) => {
    const { status, headers } = await client.raw(address);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-security-policy']).toContain("script-src 'self';");
    expect(headers['content-security-policy']).not.toContain('unsafe');
    const etag = headers.etag ?? '';
    const again = await client.raw(address, { headers: { 'if-none-match': etag } });
    expect({ status: again.status, bytes: again.body.length }).toEqual({ status: 304, bytes: 0 });
  });

  test('returns 405 for POST', async ({ client }) => {
    const { status, json } = await client.raw(address, { method: 'POST' });
    expect({ status, code: json.code }).toEqual({ status: 405, code: 'METHOD_NOT_ALLOWED' });
  });
});

test('shows the navigation of a customer to a browser with a session, and of a visitor to others', async ({
  client,
}) => {
  const ofCustomer = await client.raw('/docs', { headers: { cookie: 'a=b; souk_session=any' } });
  expect(ofCustomer.text).toContain('href="/explore"');
  expect(ofCustomer.text).not.toContain('href="/sign-in"');
  const ofVisitor = await client.raw('/docs', {
    headers: { 'if-none-match': ofCustomer.headers.etag ?? '' },
  });
  expect([ofVisitor.status, ofVisitor.text]).toEqual([200, expect.stringContaining('href="/sign-in"')]);
});

test('returns 404 for a guide that does not exist', async ({ client }) => {
  expect(await client.raw('/docs/nowhere')).toMatchObject({ status: 404, json: { code: 'NOT_FOUND' } });
});

describeInBrowser('in a browser', () => {
  let browser: TestBrowser;
  test.beforeAll(async () => {
    browser = await openBrowser();
  });
  test.afterAll(() => browser.close());

  describe('guides', () => {
    let page: Page;
    test.beforeAll(async ({ souk }) => {
      page = await browser.page({ baseURL: souk.clientOf('').baseUrl });
    });
    test.afterAll(() => page.close());

    test.for(ADDRESSES)(
      '%s loads from its own service only, without errors, and is accessible',
      async (address) => {
        await page.goto(address);
        await expectUsable(page, address.slice(1).replaceAll('/', '-'));
      },
    );

    test('examples contain the address of the service that sent the page', async ({ client }) => {
      await page.goto('/docs/first-call');
      await page.getByText(`SOUK_URL=${client.baseUrl}`).waitFor();
    });

    test('the content and every example that scrolls can be reached with the keyboard', async () => {
      await page.goto('/docs/first-call');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      expect(await page.evaluate('document.activeElement.id')).toBe('main');
      const unreachable =
        "[...document.querySelectorAll('pre, .table')].filter((one) => one.tabIndex < 0).length";
      expect(await page.evaluate(unreachable)).toBe(0);
    });
  });

  // Swagger UI is slow on a busy machine: the tests share a page, and each starts where the one before has ended.
  describe('the API reference', { timeout: 240_000 }, () => {
    let page: Page;
    let key: string;
    test.beforeAll(async ({ souk }) => {
      ({ key } = await souk.account());
      page = await browser.page({ baseURL: souk.clientOf('').baseUrl });
      await page.goto(REFERENCE);
      await page.locator('.opblock-tag').first().waitFor();
    });
    test.afterAll(() => page.close());

    test('loads from its own service only, without errors, and is accessible', async () => {
      await expectUsable(page, 'docs-api');
    });

    test('is accessible with an open operation, except for what Swagger UI itself writes', async () => {
      await page.setViewportSize({ width: 1280, height: 800 });
      await openOperation(page, 'service', 'get', '/healthz');
      await page.getByRole('button', { name: 'Execute' }).waitFor();
      const withoutRules = ['nested-interactive', 'select-name', 'scrollable-region-focusable'];
      await expectAccessible(page, { withoutRules });
      await closeTag(page, 'service');
    });

    test('makes a real call with the key of the customer', async ({ souk }) => {
      const client = souk.clientOf(key);
      await authorize(page, key);
      const before = await unitsUsed(client);
      await openOperation(page, 'market', 'get', '/api/market/product');
      await page.locator('[data-param-name=detailLevel] select').selectOption('summary');
      await page.getByRole('button', { name: 'Execute' }).click();
      const answer = page.locator('.live-responses-table .response').first();
      // Colors cut the text into pieces.
      await expect.poll(() => answer.textContent()).toContain('"code": "0000"');
      expect(await answer.textContent()).toContain('B08N5WRWNX');
      expect(await answer.textContent()).toContain('x-units-consumed: 1');
      expect((await unitsUsed(client)) - before).toBe(1);
      expect(faultsOf(page).errors).toEqual([]);
      expect(outsideRequests(page)).toEqual([]);
    });

    test('sends the parameters that were filled in, and no optional ones', () => {
      const calls = faultsOf(page).requests.filter((url) => url.includes('/api/market/product'));
      const [query] = calls.map((url) => Object.fromEntries(new URL(url).searchParams));
      expect(query).toMatchObject({ domain: '1', asins: 'B08N5WRWNX', detailLevel: 'summary' });
      for (const name of ['async', 'maxUnits', 'country', 'days', 'key'])
        expect(query).not.toHaveProperty(name);
    });

    test('forgets the key when it is loaded again', async () => {
      // Without the fragment, which would open the operation.
      await page.goto('/docs');
      await page.goto(REFERENCE);
      await page.locator('.opblock-tag').first().waitFor();
      const kept = 'JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie';
      expect(await page.evaluate(kept)).not.toContain(key);
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

async function openOperation(page: Page, tag: string, method: string, path: string): Promise<void> {
  await page.locator(`#operations-tag-${tag}`).click();
  const operation = page.locator(`.opblock-${method}`, { has: page.locator(`[data-path="${path}"]`) });
  await operation.locator('.opblock-summary-control').click();
}

async function closeTag(page: Page, tag: string): Promise<void> {
  await page.locator(`#operations-tag-${tag}`).click();
  await page.locator('.opblock').first().waitFor({ state: 'detached' });
}
