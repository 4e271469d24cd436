import { v7 as uuid } from 'uuid';
import { expect } from 'vitest';
import { createPurchase, grantPurchase } from '../../src/billing/payments/purchases.ts';
import type { MarginReport } from '../../src/operator/margin/read-margin.ts';
import { PAGES, staffOf } from '../support/customer.ts';
import type { Souk, TestAccount } from '../support/souk.ts';
import { soukCommand } from '../support/souk-command.ts';
import { test } from '../support/souk-test.ts';

const TOKEN = 'only-for-the-operator';

test.override('soukOptions', { pages: { ...PAGES, tokenPrice: 0.01 }, operator: { adminToken: TOKEN } });

test('the console shows live workers of every pool, the pool of batches included', async ({ souk }) => {
  const { visitor } = await staffOf(souk);
  const { text } = await visitor.get('/admin');
  expect(text).toMatch(/ batch .*?1 running/);
});

/** An account with a pack of 100 units for 10.00, of which a call has used 30. */
async function sell(souk: Souk, account: TestAccount): Promise<void> {
  const { database, clock } = souk;
  const purchaseId = uuid();
  const offer = {
    kind: 'pack',
    code: 'hundred',
    name: 'Hundred',
    wallet: 'general',
    window: null,
    units: 100,
  } as const;
  const terms = { rateLimitPerMinute: 100, validDays: 30, priceCents: 1_000 };
  const purchase = { wallet: 'general', quantity: 1, months: 1, currency: 'usd', provider: 'demo' } as const;
  const { accountId } = account;
  await createPurchase(
    database,
    { purchaseId, accountId, offer: { ...offer, ...terms }, ...purchase },
    clock.now(),
  );
  const granted = await grantPurchase(database, purchaseId, clock.now());
  clock.advance(1_000);
  await database.query(
    `insert into ledger (account_id, at, kind, source, source_id, call_id, units) values ($1, $2, 'charge', 'pack', $3, gen_random_uuid(), 30)`,
    [accountId, new Date(clock.now()), granted?.packId],
  );
  await database.query(
    `insert into token_days (day, account_id, operation, calls, joined, spent, cached, merged)
     values ($1, $2, 'market.product', 10, 5, 100000, 60000, 40000)`,
    [new Date(clock.now()).toISOString().slice(0, 10), accountId],
  );
  clock.advance(1_000);
}

test('the page, the files, the API and the command show the same margin', async ({ souk, account }) => {
  await sell(souk, account);
  const { visitor } = await staffOf(souk, 'observer');
  const page = await visitor.get('/admin/margin?by=customer');
  // 30 of 100 units of 10.00, and 100 tokens at 0.01. Joined calls would have cost 20 tokens each, like the others.
  expect(page.text).toMatch(/Margin \$2\.00 .*Revenue earned \$3\.00 .*Paid \$10\.00 .*Deferred \$7\.00/);
  expect(page.text).toMatch(/30 \$3\.00 \$1\.00 \$2\.00 \$0\.00 100 60 40 100 \$2\.00/);
  expect((await visitor.get('/admin/margin')).html).toContain('data-chart');
  expect((await visitor.get('/admin')).text).not.toContain('below the cost');
  const headers = { authorization: `Bearer ${TOKEN}` };
  const api = async (query: string) => souk.clientOf('').raw(`/api/operator/margin${query}`, { headers });
  const { data } = JSON.parse((await api('?by=customer')).text) as { data: MarginReport };
  expect(data.totals).toMatchObject({
    units: 30,
    revenueCents: 300,
    paidCents: 1_000,
    deferredCents: 700,
    tokens: 100,
    costCents: 100,
    tokensSavedByCache: 60,
    tokensSavedByMerging: 40,
    tokensSavedByJoining: 100,
    savedCents: 200,
    marginCents: 200,
  });
  expect(data.rows).toEqual([
    expect.objectContaining({ group: String(account.accountId), units: 30, marginCents: 200 }),
  ]);
  const csv = (await api('?by=customer&format=csv')).text;
  expect(csv).toBe((await visitor.get('/admin/margin.csv?by=customer')).html);
  expect(csv.split('\n')[1]).toContain(`${account.accountId},`);
  expect((await api('?by=customer&format=xlsx')).headers['content-type']).toContain('spreadsheetml');
  const command = soukCommand({ DATABASE_URL: souk.databaseUrl, UPSTREAM_TOKEN_PRICE: '0.01' });
  const now = new Date(souk.clock.now()).toISOString().slice(0, 10);
  const report = await command.json(['margin', '--by', 'customer', '--from', now, '--to', now]);
  expect((report as MarginReport).totals).toEqual(data.totals);
});

test.for([
  ['by=color', 'by must be one of day, customer, plan, key, operation'],
  ['from=2026-02-30', 'from must be a date such as 2027-05-01'],
  ['from=2020-01-01', 'from must be at most 366 days before to'],
  ['from=2026-03-05&to=2026-03-04', 'must not be'],
])('is refused with 400 for %s', async ([query, problem], { souk }) => {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const reply = await souk.clientOf('').raw(`/api/operator/margin?${query}`, { headers });
  expect(reply.status).toBe(400);
  expect(reply.text.replaceAll(':', '')).toContain(problem);
  const { visitor } = await staffOf(souk, 'observer');
  expect((await visitor.get(`/admin/margin?${query}`)).status).toBe(400);
});
