import { expect, vi } from 'vitest';
import { ensureStandardPlans } from '../../src/billing/standard-plans.ts';
import { expectUsable } from '../support/accessibility.ts';
import { describeInBrowser, type Page } from '../support/browser.ts';
import { staffOf } from '../support/customer.ts';
import { csvReport, load, ranked } from '../support/reports.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { words } from '../support/words.ts';

/** How many pixels of a table are outside its visible part. */
const HIDDEN_PIXELS =
  "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.table'))";

test.override('soukOptions', ({ demo }) => ({
  upstreamUrl: demo.url,
  operator: { adminToken: 'only-for-the-operator' },
}));
let souk: Souk;
let accountId: number;
let page: Page;

describeInBrowser('the operator console in a browser', () => {
  test.beforeAll(async ({ souk: opened, openPage }) => {
    souk = opened;
    await ensureStandardPlans(souk.database);
    accountId = await aFullDesk();
    page = await openPage({ session: (await staffOf(souk)).cookie });
  });

  test.each(
    words(`
    accounts accounts/ID orders offers offers/plan?code=pro offers/pack upstream provider-accounts errors reports storage
    audit announcements incidents staff margin alerts mails activity
  `)
      .map((path) => `/${path}`)
      .concat(''),
  )('/admin%s is accessible and as wide as the window', async (path) => {
    await page.goto(`/admin${path.replace('ID', String(accountId))}`);
    await expectUsable(page, `operator${path.replaceAll(/\W+/g, '-')}`);
  });

  test('the pages of a customer that an operator views are accessible and as wide as the window', async () => {
    await page.goto(`/account/${accountId}`);
    await page.getByRole('link', { name: 'Back to the console' }).waitFor();
    await expectUsable(page, 'operator-as-customer');
  });

  test('the page of the first operator is accessible and as wide as the window', async () => {
    const { database } = souk;
    await database.query(
      "update people set installation_role = 'observer' where installation_role = 'operator'",
    );
    await page.goto('/admin/claim');
    await page.getByLabel('Operator token').waitFor();
    await expectUsable(page, 'operator-claim');
    await database.query(
      "update people set installation_role = 'operator' where installation_role = 'observer'",
    );
  });

  test('the status page is accessible and as wide as the window, in both colours and at 390 px', async () => {
    await page.goto('/status');
    await expectUsable(page, 'status');
  });

  test('the table of failed calls has its last column, the ids, in view at 1280 px', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto('/admin/errors');
    await page.getByRole('columnheader', { name: 'Job, error id' }).waitFor();
    expect(await page.evaluate(HIDDEN_PIXELS)).toBe(0);
  });
});

/** Creates data for every page of the console. @returns the number of the account with most of the data. */
async function aFullDesk(): Promise<number> {
  const { database, clock } = souk;
  const { accountId, key } = await souk.account();
  const client = souk.clientOf(key);
  await client.get('/api/market/product?country=us&asins=B08N5WRWNX,B0CC11BB22&days=30');
  await client.get('/api/market/productsearch?country=us&keyword=tent');
  await client.get('/api/market/product?country=us&asins=B08N5WRWNX&days=30');
  await client.get('/api/market/variations?country=us&asin=ZX00000000');
  await souk.database.query(
    `update finished_calls set error = error || '{"metadata": {"errorId": "6f0c3c38-6b8a-4a53-8f3f-0e6b2c8f3d11"}}' where error is not null`,
  );
  const now = new Date(clock.now());
  await database.query(
    `insert into token_readings (provider, minute, tokens_left, tokens_per_minute)
     select $2, $1::timestamptz - n * interval '1 minute', 150 + 120 * sin(n / 90.0) - (n % 37) * 2, 5
     from generate_series(0, 1400) n where n < 500 or n > 560`,
    [now, souk.providers.products],
  );
  await database.query(
    `insert into failures (at, code, place, error_id, request_id, call_id, account_id, reason) values
     ($1, '5000', '/api/quota', null, $2, null, null, E'TypeError: cannot read properties of undefined\\n    at read (src/x.ts:1:2)'),
     ($1, 'UPSTREAM_ERROR', 'market.product', $3, null, $2::uuid, $4, 'product: HTTP 500, no readable answer')`,
    [now, '0198a2b0-0000-7000-8000-00000000000a', '6f0c3c38-6b8a-4a53-8f3f-0e6b2c8f3d11', accountId],
  );
  for (const week of ['2026-01-03', '2026-01-17'])
    await load(database, 'us', csvReport(week, ranked('tent', 'boat')));
  await load(database, 'de', 'no report').catch(() => {});
  await database.query(
    `insert into aba_fetches (site, week, attempts, next_attempt_at, reason)
     values (2, '2026-01-24', 2, $1, 'the provider has no data for this week')`,
    [now],
  );
  await database.query(
    `insert into aba_imports (site, week, state, rows_read, started_at) values (1, '2026-01-24', 'reading', 1, $1)`,
    [now],
  );
  await database.query(
    `insert into orders (id, account_id, kind, offer_code, offer_name, wallet, quantity, months, amount_cents, currency,
       provider, created_at, plan_id)
     select gen_random_uuid(), $1, 'plan', code, name, 'general', 2, 3, 6 * price_cents, 'usd', 'manual', $2, id
     from plans where code in ('basic', 'pro')`,
    [accountId, now],
  );
  await database.query(
    `insert into incidents (component, started_at, ended_at, level, level_now, notes) values
     ('upstream:products', $1::timestamptz - interval '3 days', $1::timestamptz - interval '70 hours', 'outage', 'operational',
       '[{"at": "2026-03-01T12:00:00Z", "text": "The source answered slowly."}]'),
     ('pool:trends', $1::timestamptz - interval '1 hour', null, 'degraded', 'degraded', '[]')`,
    [now],
  );
  await database.query(
    `insert into announcements (text, link, level, audience, starts_at, ends_at)
     values ('Maintenance tonight from 22:00 to 23:00 UTC.', '/docs', 'warning', 'everyone', $1, $1::timestamptz + interval '1 day')`,
    [now],
  );
  // The sums of operations are written every five seconds.
  await vi.waitFor(async () => {
    clock.advance(5_000);
    const { rowCount } = await database.query('select 1 from operation_hours where tokens_spent > 0');
    if (!rowCount) throw new Error('nothing was written yet');
  });
  return accountId;
}
