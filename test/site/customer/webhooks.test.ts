import { afterAll, expect } from 'vitest';
import { type Customer, PAGES, signedIn } from '../../support/customer.ts';
import { openReceiver, type Receiver } from '../../support/receiver.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { sendDue } from '../../support/webhooks.ts';

const PAGE = '/account/webhooks';

test.override('soukOptions', { workers: 0, pages: PAGES });
let souk: Souk;
let receiver: Receiver;
let customer: Customer;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  receiver = await openReceiver();
  customer = await signedIn(souk);
});
afterAll(async () => {
  await receiver.close();
});

test('requires a secret before an address can be tested', async () => {
  const other = await signedIn(souk);
  expect((await other.visitor.get(PAGE)).text).toContain('No secret yet');
  const refused = await other.visitor.post(`${PAGE}/test`, { url: receiver.url });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('secret');
});

test('shows a secret once, and replaces it', async () => {
  await customer.visitor.get(PAGE);
  const [first, second] = [
    await customer.visitor.post(`${PAGE}/secret`, {}),
    await customer.visitor.post(`${PAGE}/secret`, {}),
  ].map(({ text }) => /whsec_[\w+/=]+/.exec(text)?.[0]);
  expect(first).toBeDefined();
  expect(second).not.toBe(first);
  const later = await customer.visitor.get(PAGE);
  expect(later.text).not.toContain('whsec_');
  expect(later.text).toContain('also signs until');
});

test('sends and logs a test delivery, and sends it again', async () => {
  receiver.react(() => 500);
  await customer.visitor.get(PAGE);
  const page = await customer.visitor.post(`${PAGE}/test`, { url: `${receiver.url}/<i>hook</i>` });
  expect(page.path).toMatch(/^\/account\/webhooks\/deliveries\/[0-9a-f-]{36}$/);
  expect(page.text).toContain('State pending');
  expect(page.text).toContain('"type": "webhook.test"');
  expect(page.text).toContain('This is a test.');
  await sendDue(souk);
  expect((await customer.visitor.get(page.path)).text).toContain('500');
  receiver.react(() => 204);
  await customer.visitor.post(`${page.path}/replay`, {});
  await sendDue(souk);
  expect((await customer.visitor.get(page.path)).text).toContain('State delivered');
  const log = await customer.visitor.get(`${PAGE}?state=delivered`);
  expect(log.html).toContain(page.path);
  expect(log.html).not.toContain('<i>hook');
});

test.each(['', 'nonsense', 'ftp://example.com'])('shows an error for the address %j', async (url) => {
  await customer.visitor.get(PAGE);
  const page = await customer.visitor.post(`${PAGE}/test`, { url });
  expect(page.status).toBe(400);
  expect(page.html).toContain('id="field-url-fault"');
});
