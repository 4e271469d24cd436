import { execFileSync } from 'node:child_process';
import { describe, expect } from 'vitest';
import type { Operation } from '../../../src/operations/define.ts';
import { OPERATIONS } from '../../../src/operations/index.ts';
import { readFields, tryFields, tryRequest } from '../../../src/site/customer/try-request.ts';
import { curlExample } from '../../../src/site/kit/call-examples.tsx';
import { drawsPictures, knowsEveryProduct, newAsin } from '../../support/answers.ts';
import { type Customer, PAGES, signedIn } from '../../support/customer.ts';
import { sampleOf } from '../../support/operation-samples.ts';
import { gate } from '../../support/scripted-upstream.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const PAGE = '/account/try';

test.override('soukOptions', { pages: PAGES });
let souk: Souk;
let customer: Customer;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  souk.upstream.on('product', knowsEveryProduct);
  souk.upstream.on('graphimage', drawsPictures);
  customer = await signedIn(souk);
});

async function sendForm(fields: Record<string, string>) {
  await customer.visitor.get(PAGE);
  return customer.visitor.post(PAGE, { operation: 'market.product', 'p.domain': '1', ...fields });
}

test('parameters that are objects are in the body of a request', () => {
  const parameters = { domain: 1, asins: ['B000000001'], dateRange: { start: 1, end: 2 } };
  expect(tryRequest(byName('market.product'), parameters)).toEqual({
    method: 'POST',
    url: '/api/market/product',
    body: parameters,
  });
});

const byName = (name: string): Operation => {
  const found = OPERATIONS.find((operation) => operation.name === name);
  if (!found) throw new Error(`no operation ${name}`);
  return found;
};

test.each(OPERATIONS.map(({ name }) => name))(
  'the form of %s has every required field, and its examples can be priced unchanged',
  async (operation) => {
    const { status, html } = await customer.visitor.get(`${PAGE}?operation=${operation}`);
    expect(status).toBe(200);
    const fields = Object.fromEntries(
      tryFields(byName(operation))
        .filter(({ required }) => required)
        .map(({ name }) => {
          const value =
            new RegExp(`name="p\\.${name}"[^>]*value="([^"]*)"`).exec(html)?.[1] ??
            new RegExp(`name="p\\.${name}"[^>]*>([^<]*)</textarea>`).exec(html)?.[1] ??
            new RegExp(`<select id="field-p\\.${name}".*?<option value="([^"]*)" selected`).exec(html)?.[1];
          expect({ name, value }).toEqual({ name, value: expect.any(String) as string });
          return [`p.${name}`, (value ?? '').replaceAll('&quot;', '"')];
        }),
    );
    const page = await customer.visitor.post(PAGE, { operation, intent: 'price', ...fields });
    // No week of brand analytics is loaded, which is an error before the price.
    if (page.status === 200) expect(page.text).toMatch(/At most [\d,]+ units?\./);
    else expect(page.text).toMatch(/is not loaded|no report|reports?/i);
  },
);

test.each(Object.keys(Object.fromEntries(OPERATIONS.map(({ name }) => [name, 0]))))(
  'the form of %s sends the same request as a program',
  (name) => {
    const operation = byName(name);
    const sample = sampleOf(name);
    const fields = tryFields(operation);
    const rest = { ...sample };
    const values: Record<string, string> = {};
    for (const field of fields.filter(({ spread }) => !spread)) {
      const value = rest[field.name];
      delete rest[field.name];
      if (value === undefined) continue;
      const list = Array.isArray(value) && field.kind === 'list' ? value.join(', ') : null;
      values[`p.${field.name}`] = typeof value === 'string' ? value : (list ?? JSON.stringify(value));
    }
    const spread = fields.find((field) => field.spread);
    if (spread) values[`p.${spread.name}`] = JSON.stringify(rest);
    const request = tryRequest(operation, readFields(fields, values));
    expect(request.url).not.toContain(':');
    const sent = request.body ?? Object.fromEntries(new URL(request.url, 'http://x').searchParams);
    for (const [key, value] of Object.entries(spread ? sample : {})) expect(sent[key]).toEqual(value);
  },
);

test('shows the price first, without a call or a charge', async () => {
  const calls = souk.upstream.calls.length;
  const page = await sendForm({ intent: 'price', 'p.asins': `${newAsin()}, ${newAsin()}` });
  expect(page.text).toContain('At most 2 units. You can make this call now. It has not been made yet.');
  expect(souk.upstream.calls).toHaveLength(calls);
  expect(await unitsUsed(customer.client)).toBe(0);
});

test('shows the answer of a call, its cost and the curl command that repeats it', async () => {
  const asin = newAsin();
  const page = await sendForm({ intent: 'call', 'p.asins': asin, 'p.detailLevel': 'summary' });
  expect(page.text).toContain('200 1 unit was charged.');
  expect(page.text).toContain(`"title": "Thing ${asin}"`);
  expect(page.text).toContain('x-job-id');
  expect(page.text).toContain(
    `curl -H 'X-API-Key: YOUR_KEY' '${customer.client.baseUrl}/api/market/product?domain=1&asins=${asin}&detailLevel=summary'`,
  );
  expect(page.text).not.toContain('km_');
});

test('shows a title with HTML as text', async () => {
  const asin = newAsin();
  souk.upstream.on('product', () => ({
    json: {
      products: [
        { asin, domainId: 1, productType: 0, title: '</code></pre><script>alert(1)</script>', csv: [] },
      ],
    },
  }));
  const page = await sendForm({ intent: 'call', 'p.asins': asin });
  souk.upstream.on('product', knowsEveryProduct);
  expect(page.text).toContain('<script>alert(1)</script>');
  expect(page.html).not.toContain('<script>alert');
});

test('links to a large answer instead of loading it into the page', async () => {
  const asin = newAsin();
  const title = 'x'.repeat(200_000);
  souk.upstream.on('product', () => ({
    json: { products: [{ asin, domainId: 1, productType: 0, title, csv: [] }] },
  }));
  const page = await sendForm({ intent: 'call', 'p.asins': asin, 'p.detailLevel': 'full' });
  souk.upstream.on('product', knowsEveryProduct);
  expect(page.html.length).toBeLessThan(60_000);
  const [, address = ''] = /data-answer="([^"]+)"/.exec(page.html) ?? [];
  expect(page.html).toContain(`href="${address}"`);
  expect((await customer.visitor.get(address)).html).toContain(title);
});

test('shows the job of a call that takes longer', async () => {
  const { reached, open } = gate();
  souk.upstream.on('product', async (...call) => {
    await reached;
    return knowsEveryProduct(...call);
  });
  await customer.visitor.get(PAGE);
  const calls = souk.upstream.calls.length;
  const sent = sendForm({ intent: 'call', 'p.asins': newAsin() });
  await souk.upstream.received(calls + 1);
  souk.clock.advance(21_000);
  const page = await sent;
  open();
  souk.upstream.on('product', knowsEveryProduct);
  expect(page.path).toMatch(/^\/account\/jobs\//);
});

test.each([
  [{ 'p.asins': 'TOOSHORT' }, 'p.asins'],
  [{ 'p.asins': newAsin(), 'p.stats': 'many' }, 'p.stats'],
  [{ operation: 'market.productfinder', 'p.selection': '{' }, 'p.selection'],
  [{ operation: 'market.productfinder', 'p.selection': '[1]' }, 'p.selection'],
  [{ operation: 'market.deal', 'p.domainId': '1', 'p.currentRange': '[2, 1, 0]' }, 'p.currentRange'],
])('shows the error of %j next to its field, at no charge', async (fields, field) => {
  const before = await unitsUsed(customer.client);
  for (const intent of ['price', 'call']) {
    const page = await sendForm({ intent, ...fields });
    expect(page.status).toBeLessThan(500);
    expect(page.html).toContain(`id="field-${field}-fault"`);
  }
  expect(await unitsUsed(customer.client)).toBe(before);
});

test('shows the reason of a refused call', async () => {
  const poor = await signedIn(souk, { plan: null });
  await poor.visitor.get(PAGE);
  const fields = { operation: 'market.product', 'p.domain': '1', 'p.asins': newAsin() };
  expect((await poor.visitor.post(PAGE, { ...fields, intent: 'price' })).text).toContain(
    'QUOTA_NO_SUBSCRIPTION',
  );
  const page = await poor.visitor.post(PAGE, { ...fields, intent: 'call' });
  expect(page.text).toContain('429 QUOTA_NO_SUBSCRIPTION');
});

describe('the price history of a product', () => {
  test('is drawn by its own form', async () => {
    await customer.visitor.get(PAGE);
    const page = await customer.visitor.post(`${PAGE}/picture`, {
      asin: newAsin(),
      domain: '1',
      range: '90',
    });
    const [, address = ''] = /<img class="picture" src="([^"]+)"/.exec(page.html) ?? [];
    expect((await customer.visitor.get(address)).headers['content-type']).toBe('image/png');
  });

  test.each([
    {},
    { asin: '<b>' },
    { asin: 'B0GOOD0001', domain: '7' },
    { asin: 'B0GOOD0001', domain: '1', range: '-' },
  ])('of %j shows an error', async (fields) => {
    await customer.visitor.get(PAGE);
    const page = await customer.visitor.post(`${PAGE}/picture`, fields as Record<string, string>);
    expect(page.status).toBe(400);
    expect(page.html).toMatch(/class="fault"|class="notice bad"/);
  });
});

test('quotes every value of the curl command', () => {
  const hostile = `it's "$HOME" \`id\` \\ $(id)`;
  const request = { method: 'POST', url: '/api/x', body: { term: hostile } };
  const line = curlExample({ request, baseUrl: 'http://127.0.0.1' });
  const printed = execFileSync('sh', ['-c', line.replace(/^curl/, "printf '%s\\n'")])
    .toString()
    .split('\n');
  expect(printed).toContain(JSON.stringify({ term: hostile }));
});

test('category ids beyond 2^53 keep their digits from the form to the provider', async () => {
  souk.upstream.on('deal', () => ({ json: { deals: { dr: [] } } }));
  souk.upstream.on('query', () => ({ json: { asinList: [], totalResults: 0 } }));
  const id = '9007199254740993';
  const fields = { 'p.domainId': '1', 'p.includeCategories': `5, ${id}` };
  await sendForm({ operation: 'market.deal', intent: 'call', ...fields });
  await sendForm({
    operation: 'market.productfinder',
    intent: 'call',
    'p.selection': `{"title":"x","categories_include":[${id}]}`,
  });
  await Promise.all([souk.upstream.received(1, 'deal'), souk.upstream.received(1, 'query')]);
  const sent = souk.upstream.calls.filter(({ path }) => path === 'deal' || path === 'query');
  expect(sent.map(({ body }) => body)).toEqual([
    expect.stringContaining(`"includeCategories":[5,${id}]`),
    expect.stringContaining(`"categories_include":[${id}]`),
  ]);
});
