import { expect } from 'vitest';
import { newAsin } from '../../../support/answers.ts';
import { type Customer, PAGES, signedIn } from '../../../support/customer.ts';
import { answersAsDemo } from '../../../support/demo-upstream.ts';
import type { Souk } from '../../../support/souk.ts';
import { test } from '../../../support/souk-test.ts';
import { unitsUsed } from '../../../support/units.ts';

test.override('soukOptions', { pages: PAGES });
let souk: Souk;
let customer: Customer;

test.beforeAll(async ({ souk: opened, demo }) => {
  souk = opened;
  answersAsDemo(souk.upstream, demo);
  customer = await signedIn(souk);
});

async function choose(units: number): Promise<void> {
  await customer.visitor.get('/profile');
  await customer.visitor.post('/profile/explore', { units: String(units) });
}

const ask = (asin: string) =>
  customer.visitor.post('/explore/product', { domain: '10', asin, intent: 'direct' });

test('a call of at most the chosen units is made without showing its cost first', async () => {
  await choose(1);
  const { html, text } = await customer.visitor.get('/explore/product');
  expect(text).toContain('Show (at most 1 unit)');
  expect(html).toContain('name="intent" value="direct"');
  const before = await unitsUsed(customer.client);
  const page = await ask('B0C3CDEF01');
  expect(page.text).toContain('1 unit charged');
  expect(await unitsUsed(customer.client)).toBe(before + 1);
});

test('a call that costs more shows its cost, and nothing is charged', async () => {
  await choose(1);
  await customer.visitor.get('/explore/compare');
  const before = await unitsUsed(customer.client);
  const page = await customer.visitor.post('/explore/compare', {
    domain: '1',
    asins: `${newAsin()} ${newAsin()}`,
    intent: 'direct',
  });
  expect(page.text).toContain('Compare (2 units)');
  expect(await unitsUsed(customer.client)).toBe(before);
});

test('without the choice, a form that asks for it is answered with the cost', async () => {
  await choose(0);
  expect((await customer.visitor.get('/explore/product')).text).toContain('Check cost');
  const before = await unitsUsed(customer.client);
  expect((await ask(newAsin())).text).toContain('Show the product (1 unit)');
  expect(await unitsUsed(customer.client)).toBe(before);
  await choose(3);
  expect((await customer.visitor.get('/profile')).html).toMatch(/<option value="0" selected/);
});

test('a list can be fetched with the details of its first part, for the sum that the button states', async () => {
  const form = { domain: '1', rankMax: '20000' };
  const offered = await customer.visitor.get(`/explore/finder?${new URLSearchParams(form)}`);
  expect(offered.text).toContain('Find them with details of the first 30 (at most 31 units)');
  const before = await unitsUsed(customer.client);
  const page = await customer.visitor.post('/explore/finder', { ...form, view: 'found', more: '1' });
  expect(page.text).toContain('30 units charged');
  expect(page.html).not.toContain('name="view"');
  expect(await unitsUsed(customer.client)).toBe(before + 31);
});
