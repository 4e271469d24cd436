import { expect } from 'vitest';
import { lossesIn, usageByOperation } from '../../src/operator/usage-report.ts';
import { PAGES, staffOf } from '../support/customer.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', {
  pages: { ...PAGES, tokenPrice: 0.01 },
  operator: { adminToken: 'only-for-the-operator' },
});

test('the console shows live workers of every pool, the pool of batches included', async ({ souk }) => {
  const { visitor } = await staffOf(souk);
  const { text } = await visitor.get('/admin');
  expect(text).toMatch(/ batch .*?1 running/);
});

test('the console warns of operations whose units were sold for less than their tokens cost', async ({
  souk,
  account,
}) => {
  const now = souk.clock.now();
  await souk.database.query(
    `insert into operation_hours (hour, operation, calls, units_sold, tokens_spent)
     values ($1, 'market.bestseller', 2, 30, 100), ($1, 'market.product', 5, 80, 90)`,
    [new Date(now)],
  );
  // 110 units were paid with 110 cents. An older purchase, a pending one, and one in another currency do not count.
  await souk.database.query(
    `insert into orders (id, account_id, kind, offer_code, offer_name, wallet, quantity, amount_cents, currency, provider,
       state, created_at, ended_at, pack_units, pack_rate_limit_per_minute, pack_valid_days)
     select gen_random_uuid(), $1, 'pack', 'pack', 'Pack', 'general', 1, cents, currency, 'demo', state, ended_at,
       case when state = 'granted' then ended_at end, 100, 10, 30
     from (values (110, 'usd', 'granted', $2::timestamptz), (5000, 'usd', 'granted', $2::timestamptz - interval '40 days'),
       (5000, 'usd', 'pending', $2::timestamptz), (5000, 'eur', 'granted', $2::timestamptz)) as v (cents, currency, state, ended_at)`,
    [account.accountId, new Date(now)],
  );
  const { visitor } = await staffOf(souk, 'observer');
  for (const path of ['/admin', '/admin/upstream']) {
    const [, warning = ''] =
      /Sold below the cost of their tokens:(.*?)Cached answers/.exec((await visitor.get(path)).text) ?? [];
    expect(warning).toContain('market.bestseller (units for $0.30, tokens for $1.00)');
    expect(warning).toContain('market.product (units for $0.80, tokens for $0.90)');
  }
  const usage = await usageByOperation(souk.database, { from: now - 1, to: now });
  const losses = (tokenPrice: number | null) =>
    lossesIn(souk.database, usage, { tokenPrice, currency: 'usd', now });
  expect((await losses(0.008)).map(({ operation }) => operation)).toEqual(['market.bestseller']);
  expect(await losses(null)).toEqual([]);
});
