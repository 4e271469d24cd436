import { describe, expect } from 'vitest';
import { knowsEveryProduct } from '../../support/answers.ts';
import { asinsFrom, batchOnce, finished } from '../../support/batches.ts';
import { type Customer, PAGES, signedIn } from '../../support/customer.ts';
import { gate } from '../../support/scripted-upstream.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { fieldIn } from '../../support/visitor.ts';

const NEW = '/account/batches/new';

test.override('soukOptions', { pages: PAGES });
let souk: Souk;
let customer: Customer;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  souk.upstream.on('product', knowsEveryProduct);
  customer = await signedIn(souk);
});

async function sendForm(fields: Record<string, string>) {
  const { html } = await customer.visitor.get(NEW);
  const idempotencyKey = fieldIn(html, 'idempotencyKey');
  return customer.visitor.post(NEW, { operation: 'market.product', idempotencyKey, ...fields });
}

test.each(['x', '{}', '[1]'])('ignores the preview %s of no file', async (preview) => {
  const page = await customer.visitor.get(`${NEW}?preview=${encodeURIComponent(preview)}`);
  expect(page.status).toBe(200);
  expect(page.text).not.toContain('first rows');
});

test('shows the price of a batch before it is created', async () => {
  const page = await sendForm({
    intent: 'price',
    items: asinsFrom('PRICE', 3).join('\n'),
    'p.domain': '1',
  });
  expect(page.status).toBe(200);
  expect(page.text).toContain('At most 3 units for 3 items in 1 call. The batch has not been started.');
  expect(page.html).toContain('PRICE00002');
  expect((await customer.client.get('/api/batches')).json.data.batches).toEqual([]);
});

test.each([
  ['a list of values', { layout: 'list', 'p.domain': '1', items: 'LIST000001, LIST000002\nLIST000003' }, 3],
  [
    'CSV',
    {
      layout: 'table',
      'p.domain': '3',
      'p.detailLevel': 'lite',
      items: 'domain,asins\n1,TABLE00001\n2,TABLE00002\n',
    },
    2,
  ],
  [
    'JSON objects, one a line',
    { layout: 'ndjson', 'p.domain': '3', items: '{"country":"us","asins":["NDJSON0001"]}\n' },
    1,
  ],
])('creates a batch from %s, and downloads its results', async (_, fields, count) => {
  const page = await sendForm({ intent: 'start', name: 'A <i>name</i>', ...fields });
  expect(page.path).toMatch(/^\/account\/batches\/[0-9a-f-]{36}$/);
  expect(page.html).not.toContain('<i>name</i>');
  const batchId = page.path.split('/').at(-1) ?? '';
  const batch = await finished(customer.client, { batchId });
  expect(batch.counts).toMatchObject({ items: count, done: count });
  const done = await customer.visitor.get(page.path);
  expect(done.text).toContain(`${count} of ${count}`);
  const lines = await customer.visitor.get(`${page.path}/results.ndjson`);
  expect(lines.headers['content-disposition']).toContain('.ndjson"');
  expect(lines.html).toBe((await customer.client.get(`/api/batches/${batchId}/results`)).text);
  expect((await customer.visitor.get('/account/batches')).text).toContain('A <i>name</i>');
});

test('has the parameters of the chosen operation as fields, with values in currency by default', async () => {
  const products = await customer.visitor.get(NEW);
  expect(products.html).toMatch(/type="checkbox"[^>]*name="p.decode"[^>]*checked/);
  expect(products.html).toContain('name="p.detailLevel"');
  expect(products.html).not.toContain('name="p.asins"');
  const ranks = await customer.visitor.get(`${NEW}?operation=aba.word`);
  expect(ranks.html).toContain('type="hidden" name="operation" value="aba.word"');
  expect(ranks.html).not.toContain('name="p.decode"');
});

test('creates one batch for a form that is sent twice', async () => {
  const fields = { intent: 'start', items: 'TWICE00001', 'p.domain': '1', idempotencyKey: 'once' };
  expect((await sendForm(fields)).path).toBe((await sendForm(fields)).path);
});

test.each([
  [{ operation: 'nothing' }, 'Choose an operation.'],
  [{ items: '  ' }, 'must have at least one line'],
  [{ items: 'TOOSHORT' }, 'Item 1: asins'],
  [{ 'p.domain': '7' }, 'Item 1: domain'],
  [{ layout: 'ndjson', items: '[1]' }, 'line 1 must be a JSON object'],
  [
    { layout: 'ndjson', items: '{"domain":1,"asins":"B0GOOD0001"}\nnonsense' },
    'line 2 must be a JSON object',
  ],
  [{ layout: 'table', items: 'domain,asins' }, 'at least one line of values'],
  [{ parameter: '__proto__' }, 'must contain exactly one parameter with a list'],
  [{ maxUnits: 'many' }, 'must be a whole number'],
  [{ deadline: 'soon' }, 'must be an ISO 8601 date and time'],
  [{ webhook: 'https://example.com/' }, 'secret'],
])('shows the errors of %j next to the form', async (fields, problem) => {
  for (const intent of ['price', 'start']) {
    const page = await sendForm({ intent, items: 'B0GOOD0001', 'p.domain': '1', ...fields });
    expect({ path: page.path, isRefused: page.status >= 400 && page.status < 500 }).toEqual({
      path: NEW,
      isRefused: true,
    });
    expect(page.text).toContain(problem);
  }
});

test('accepts thousands of items, and refuses more than the stated maximum', async () => {
  const items = asinsFrom('MANY', 20_000);
  const page = await sendForm({ intent: 'price', items: items.join('\n'), 'p.domain': '1' });
  expect(page.text).toContain('20,000 items');
  const tooLarge = await sendForm({ intent: 'price', items: 'x'.repeat(5_000_000) });
  expect(tooLarge.status).toBe(413);
  expect(tooLarge.text).toContain('The form data is too large');
});

test('retries the failed items of a batch that has ended', async () => {
  souk.upstream.on('product', () => ({ json: { products: [] } }));
  const page = await sendForm({
    intent: 'start',
    operation: 'market.variations',
    'p.domain': '1',
    items: 'B0PARENT01',
  });
  const batchId = page.path.split('/').at(-1) ?? '';
  await finished(customer.client, { batchId });
  const ended = await customer.visitor.get(page.path);
  expect(ended.text).toContain('failed 1');
  expect(ended.html).toContain(`${page.path}/retry`);
  expect((await customer.visitor.post(`${page.path}/cancel`, {})).status).toBeLessThan(500);
  souk.upstream.on('product', knowsEveryProduct);
  // The missing product is cached for an hour.
  souk.clock.advance(3_600_001);
  const again = await customer.visitor.post(`${page.path}/retry`, {});
  expect(again.path).toBe(page.path);
  const batch = await batchOnce(souk, customer.client, { batchId }, ({ finishedAt }) => finishedAt !== null);
  expect(batch.counts).toMatchObject({ done: 1, failed: 0 });
  const { html } = await customer.visitor.get(page.path);
  expect(html).toContain('aria-label="First results"');
  expect(html).toMatch(/<td[^>]*>B0PARENT01<\/td>/);
  expect((await customer.visitor.post(`${page.path}/retry`, {})).status).toBe(409);
});

test('shows the progress of a running batch, and cancels it', async () => {
  const { reached, open } = gate();
  souk.upstream.on('product', async (...call) => {
    await reached;
    return knowsEveryProduct(...call);
  });
  const page = await sendForm({ intent: 'start', items: 'SLOW000001', 'p.domain': '1' });
  expect(page.html).toContain('data-refresh="2"');
  const cancelled = await customer.visitor.post(`${page.path}/cancel`, {});
  open();
  souk.upstream.on('product', knowsEveryProduct);
  expect(cancelled.path).toBe(page.path);
  await finished(customer.client, { batchId: page.path.split('/').at(-1) ?? '' });
  expect((await customer.visitor.get(page.path)).text).toContain('cancelled 1');
});

test('offers results as CSV only if they form a table', async () => {
  const form = { intent: 'start', items: 'TABLED0001' };
  const pageOf = async (fields: Record<string, string>) => {
    const { path } = await sendForm({ ...form, 'p.domain': '1', ...fields });
    await finished(customer.client, { batchId: path.split('/').at(-1) ?? '' });
    return customer.visitor.get(path);
  };
  const whole = await pageOf({});
  expect(whole.text).toContain('Download CSV');
  expect(whole.text).toContain('TABLED0001 us');
  const [, link = ''] = /href="([^"]+results\.parquet\?table=products)"/.exec(whole.html) ?? [];
  const file = await customer.visitor.get(link);
  expect([file.status, file.headers['content-type']]).toEqual([200, 'application/vnd.apache.parquet']);
  const selected = await pageOf({ 'p.fields': 'title' });
  expect(selected.text).toContain('Download NDJSON');
  expect(selected.text).not.toContain('Download CSV');
});

describe('a file', () => {
  const csv = 'Title,ASIN\nLamp,B0FILE0001\nPump,B0FILE0002\n';
  const sendFile = async (content: string, fields: Record<string, string> = {}) => {
    const file = new File([content], 'products.csv', { type: 'text/csv' });
    await customer.visitor.get(NEW);
    return customer.visitor.post(NEW, {
      operation: 'market.product',
      'p.domain': '2',
      'p.decode': 'true',
      intent: 'price',
      ...fields,
      file,
    });
  };

  test('shows its first rows and the price, and then starts the batch', async () => {
    const page = await sendFile(csv);
    expect(page.status).toBe(200);
    expect(page.text).toContain('At most 2 units for 2 items');
    expect(page.text).toContain('2 items of the column ASIN from products.csv');
    expect(page.text).toContain('Lamp');
    const [, items = ''] = /<textarea[^>]*name="items"[^>]*>([^<]*)</.exec(page.html) ?? [];
    expect(items).toBe('B0FILE0001\nB0FILE0002');
    const started = await sendForm({ intent: 'start', 'p.domain': '2', 'p.decode': 'true', items });
    const batchId = started.path.split('/').at(-1) ?? '';
    const batch = await finished(customer.client, { batchId });
    expect(batch.counts).toMatchObject({ items: 2, done: 2 });
    const results = await customer.client.get(`/api/batches/${batchId}/results`);
    expect(JSON.parse(results.text.split('\n')[0] ?? '')).toMatchObject({
      params: { domain: 2, decode: true },
      data: { country: 'uk' },
    });
  });

  test('that cannot be read has its error alongside the field', async () => {
    const page = await sendFile('title\nLamp\n');
    expect(page.status).toBe(400);
    expect(page.html).toMatch(/id="field-file-fault"[^>]*>\s*has no column with ASINs/);
  });

  test('that is too large is refused', async () => {
    expect((await sendFile('B0FILE0001\n'.repeat(500_000))).status).toBe(413);
  });

  test('is not read before its sender has signed in', async () => {
    const { baseUrl } = customer.client;
    const form = new FormData();
    form.append('file', new File([csv], 'products.csv'));
    const answer = await fetch(`${baseUrl}${NEW}`, { method: 'POST', body: form, redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/sign-in']);
  });
});
