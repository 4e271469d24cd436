import { expect } from 'vitest';
import { addressFor } from '../../../src/accounts/account-address.ts';
import { type Customer, PAGES, signedIn } from '../../support/customer.ts';
import { test } from '../../support/souk-test.ts';

test.override('soukOptions', { pages: PAGES });
let customer: Customer;
test.beforeAll(async ({ souk }) => {
  customer = await signedIn(souk);
});

const found = (q: string) =>
  customer.visitor.open(addressFor(customer.accountId, `/account/search?${new URLSearchParams({ q })}`));

test.for([
  ['b0c3cdef01', 'asin=B0C3CDEF01'],
  ['https://www.amazon.co.uk/x/dp/B0C3CDEF01?th=1', 'domain=2&asin=B0C3CDEF01'],
  ['019B2C3D-4e5f-7a6b-8c7d-9e0f1a2b3c4d', '/jobs/019b2c3d-4e5f-7a6b-8c7d-9e0f1a2b3c4d'],
] as const)('%s opens its page', async ([q, address]) => {
  const { status, headers } = await found(q);
  expect([status, headers.location]).toEqual([303, expect.stringContaining(address)]);
});

test('other words lead to data, pages and guides', async () => {
  const { status, html } = await found('webhooks');
  expect(status).toBe(200);
  for (const part of ['keyword=webhooks', '>Automate: Webhooks<', 'href="/docs/webhooks'])
    expect(html).toContain(part);
});

test('a search without words says what can be searched for', async () => {
  expect((await found(' ')).text).toContain('Enter an ASIN');
});
