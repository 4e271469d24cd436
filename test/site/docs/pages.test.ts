import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { createTestKey } from '../../../src/billing/test-wallet.ts';
import { projectFile } from '../../../src/platform/project.ts';
import { GUIDES } from '../../../src/site/docs/guides.ts';
import { CHAPTERS } from '../../../src/site/docs/reference.tsx';
import { expectUsable } from '../../support/accessibility.ts';
import { describeInBrowser, faultsOf, type Page } from '../../support/browser.ts';
import type { Client } from '../../support/client.ts';
import { expectPage, PAGES, signedIn } from '../../support/customer.ts';
import { test } from '../../support/souk-test.ts';

const REFERENCE = ['/docs/api', ...CHAPTERS.map(({ tag }) => `/docs/api/${tag}`)];
const ADDRESSES = ['/docs', ...GUIDES.map(({ slug }) => `/docs/${slug}`)];

test.override('soukOptions', ({ demo }) => ({ upstreamUrl: demo.url, testUrl: demo.url, pages: PAGES }));

describe.each([...ADDRESSES, ...REFERENCE])('%s', (address) => {
  test('returns 200 without a key, with a policy that forbids inline scripts and styles, and 304 for the same version', async ({
    souk,
  }) => {
    const client = souk.clientOf('');
    const { status, headers } = await client.raw(address);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-security-policy']).toContain("script-src 'self';");
    expect(headers['content-security-policy']).not.toContain('unsafe');
    const etag = headers.etag ?? '';
    const again = await client.raw(address, { headers: { 'if-none-match': etag } });
    expect({ status: again.status, bytes: again.body.length }).toEqual({ status: 304, bytes: 0 });
  });

  test('returns 405 for POST', async ({ souk }) => {
    const { status, json } = await souk.clientOf('').raw(address, { method: 'POST' });
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
  expectPage(ofVisitor, 200, 'href="/sign-in"');
});

test('returns 404 for a guide that does not exist', async ({ client }) => {
  expect(await client.raw('/docs/nowhere')).toMatchObject({ status: 404, json: { code: 'NOT_FOUND' } });
});

/** Fields of products whose values depend on the time of the call. */
const OF_THE_DAY = new Set(
  'price amazonPrice bsr rating reviewCount countNew monthlySold lastUpdate'.split(' '),
);

/** Reduces an answer to what a document can promise: names in their order, and values that stay; `...` stands for any text. */
function lasting(answer: unknown, documented: unknown, name = ''): unknown {
  if (OF_THE_DAY.has(name)) return typeof answer;
  if (documented === '...') return typeof answer === 'string' ? '...' : answer;
  if (Array.isArray(answer))
    return answer.map((entry, i) => lasting(entry, Array.isArray(documented) ? documented[i] : undefined));
  if (typeof answer !== 'object' || answer === null) return answer;
  const others = (documented ?? {}) as Record<string, unknown>;
  return Object.entries(answer).map(([key, value]) => [key, lasting(value, others[key], key)]);
}

test.for([
  ['README.md', 'live'],
  ['docs/guides/first-call.md', 'test'],
] as const)(
  'the first call of %s with a %s key gets the documented answer',
  async ([file, mode], { souk }) => {
    const text = readFileSync(projectFile(file), 'utf8');
    const [, path = ''] = /curl .*?"(?:http:\/\/127\.0\.0\.1:3000|\$SOUK_URL)([^"]+)"/.exec(text) ?? [];
    const [, example = ''] = /^```json\n(.*?)^```$/ms.exec(text) ?? [];
    const documented: unknown = JSON.parse(example);
    const { accountId, key } = await souk.account();
    const used = mode === 'live' ? key : await createTestKey(souk.database, accountId, souk.clock.now());
    const { status, json } = await souk.clientOf(used).get(path);
    expect(status).toBe(200);
    expect(lasting(json, documented)).toEqual(lasting(documented, documented));
  },
);

/** The pages with a kind of element, by its name and classes, that no earlier page has; all of them for pictures. */
async function differing(client: Client, addresses: readonly string[]): Promise<string[]> {
  const seen = new Set<string>();
  const found: string[] = [];
  for (const address of addresses) {
    const { text } = await client.raw(address);
    const kinds = [...text.matchAll(/<\w+(?: class="[^"]*")?/g)].map(([kind]) => kind);
    if (kinds.some((kind) => !seen.has(kind)) || process.env.SOUK_SCREENSHOTS === '1') found.push(address);
    for (const kind of kinds) seen.add(kind);
  }
  expect(found.length).toBeGreaterThan(1);
  return found;
}

describeInBrowser('in a browser', () => {
  let page: Page;
  test.beforeAll(async ({ openPage }) => {
    page = await openPage();
  });

  test('guides load from their own service only, without errors, and are accessible', {
    timeout: 300_000,
  }, async ({ client }) => {
    for (const address of await differing(client, ADDRESSES)) {
      await page.goto(address);
      await expectUsable(page, address.slice(1).replaceAll('/', '-'));
    }
  });

  test('examples of guides contain the address of the service that sent the page', async ({ client }) => {
    await page.goto('/docs/first-call');
    await page.getByText(`SOUK_URL=${client.baseUrl}`).waitFor();
  });

  test('the content of a guide and every example that scrolls can be reached with the keyboard', async () => {
    await page.goto('/docs/first-call');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    const unreachable =
      "[...document.querySelectorAll('pre, .table')].filter((one) => one.tabIndex < 0).length";
    expect(await page.evaluate(unreachable)).toBe(0);
  });

  test('the API reference loads from its own service only, without errors, and is accessible with open parts', {
    timeout: 300_000,
  }, async ({ client }) => {
    for (const address of await differing(client, REFERENCE)) {
      await page.goto(address);
      for (const summary of await page.locator('.endpoint > details > summary').all()) await summary.click();
      await expectUsable(page, address.slice(1).replaceAll('/', '-'));
    }
  });

  test('the API reference puts a test key into the examples of the tab, and stores it nowhere else', async ({
    souk,
  }) => {
    const customer = await signedIn(souk);
    await page.context().addCookies([{ ...customer.cookie, url: customer.client.baseUrl }]);
    await page.goto('/docs/api/market');
    await page.getByRole('button', { name: 'Put a test key into the examples' }).click();
    const code = page.locator('#example-getProduct-curl, .endpoint code[id$="-curl"]').first();
    await expect.poll(() => code.textContent()).toMatch(/X-API-Key: km_test_\w{20,}/);
    const key = /km_test_\w+/.exec((await code.textContent()) ?? '')?.[0] ?? '';
    expect((await souk.clientOf(key).get('/api/quota')).status).toBe(200);
    await page.goto('/docs/first-call');
    expect(await page.locator('main').innerText()).toContain(key);
    expect(await page.evaluate('JSON.stringify(localStorage) + document.cookie')).not.toContain(key);
    const other = await page.context().newPage();
    await other.goto('/docs/first-call');
    expect(await other.locator('main').innerText()).not.toContain(key);
    expect(faultsOf(page).errors).toEqual([]);
  });
});
