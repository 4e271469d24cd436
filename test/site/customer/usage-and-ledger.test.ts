import { parse } from 'papaparse';
import { describe, expect } from 'vitest';
import { grantPack } from '../../../src/billing/grants.ts';
import { ledgerLines, packUnitsAfter } from '../../../src/billing/ledger-lines.ts';
import { walletBalances } from '../../../src/billing/statement.ts';
import { OTHERS, usageSeries } from '../../../src/site/customer/usage.tsx';
import { newAsin } from '../../support/answers.ts';
import { type Customer, PAGES, signedIn } from '../../support/customer.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-03-02T12:00:00Z');

test.override('soukOptions', ({ demo }) => ({ upstreamUrl: demo.url, pages: PAGES }));

describe('the ledger of an account with packs and a subscription', () => {
  let souk: Souk;
  let customer: Customer;
  test.beforeAll(async ({ souk: opened }) => {
    souk = opened;
    customer = await signedIn(souk, { plan: { dailyLimit: 3 } });
    const now = souk.clock.now();
    const { accountId } = customer;
    const pack = {
      accountId,
      wallet: 'general',
      rateLimitPerMinute: 60,
      validFrom: new Date(now - 1),
    } as const;
    await grantPack(souk.database, { ...pack, units: 40, validUntil: new Date(now + DAY_MS) }, now);
    await grantPack(souk.database, { ...pack, units: 1_200, validUntil: new Date(now + 9 * DAY_MS) }, now);
    for (let i = 0; i < 4; i += 1)
      await customer.client.get(`/api/market/product?domain=1&asins=B0C3CDEF0${i}`);
    await customer.client.get('/api/market/deal?selection=%7B%22domainId%22%3A1%7D');
    // Upstream has no data for it, so its units are released.
    await customer.client.get('/api/market/variations?domain=1&asin=ZX00000000');
  });

  const left = async () => {
    const { packs } = await walletBalances(souk.database, customer.accountId, souk.clock.now());
    return packs.reduce((sum, { remainingUnits }) => sum + remainingUnits, 0);
  };

  test('shows after each line the balance, which is the sum of all changes', async () => {
    const lines = await ledgerLines(souk.database, customer.accountId, { limit: 100 });
    const after = await packUnitsAfter(
      souk.database,
      customer.accountId,
      lines.map(({ id }) => id),
    );
    let running = 0;
    for (const line of lines.toReversed()) {
      if (line.source === 'pack') running += line.change;
      expect({ line: line.id, left: after.get(line.id) }).toEqual({ line: line.id, left: running });
    }
    expect(running).toBe(await left());
    // This also holds if lines between the shown ones are left out.
    const some = lines.filter((_, i) => i % 3 === 1);
    const afterSome = await packUnitsAfter(
      souk.database,
      customer.accountId,
      some.map(({ id }) => id),
    );
    for (const { id } of some) expect(afterSome.get(id)).toBe(after.get(id));
    const page = await customer.visitor.get('/account/ledger');
    expect(page.status).toBe(200);
    expect(page.text).toContain(`In packs ${(await left()).toLocaleString('en')} units left`);
    expect(page.text).toContain('3 of 3 used today');
  });

  test('has an export whose changes of packs add up to their remaining units', async () => {
    const { status, headers, html } = await customer.visitor.get('/account/ledger.csv');
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(headers['content-disposition']).toMatch(
      /^attachment; filename="souk-ledger-\d{4}-\d\d-\d\d\.csv"$/,
    );
    const { data, errors } = parse<Record<string, string>>(html.trim(), { header: true });
    expect(errors).toEqual([]);
    const changes = data.filter(({ source }) => source === 'pack').map(({ change }) => Number(change));
    expect(changes.some((change) => change < 0)).toBe(true);
    expect(changes.reduce((a, b) => a + b, 0)).toBe(await left());
    const lines = await ledgerLines(souk.database, customer.accountId, { limit: 1_000 });
    expect(data.map(({ line }) => Number(line))).toEqual(lines.map(({ id }) => id));
  });

  test.each([
    ['kind=release', 'Release', 'Charge'],
    ['operation=market.deal', 'market.deal', 'market.product'],
  ])('with %s shows only matching lines', async (query, wanted, other) => {
    const { html } = await customer.visitor.get(`/account/ledger?${query}`);
    const rows = html.slice(html.indexOf('<tbody'));
    expect(rows).toContain(`>${wanted}<`);
    expect(rows).not.toContain(`>${other}<`);
  });

  test('includes all lines of the first and last day of a period', async () => {
    const today = new Date(souk.clock.now()).toISOString().slice(0, 10);
    const yesterday = new Date(souk.clock.now() - DAY_MS).toISOString().slice(0, 10);
    expect((await customer.visitor.get(`/account/ledger?from=${today}&to=${today}`)).html).toContain(
      '<tbody',
    );
    expect((await customer.visitor.get(`/account/ledger?to=${yesterday}`)).text).toContain(
      'No ledger lines found',
    );
  });

  test.each([
    'kind=theft',
    'wallet=x',
    'operation=%3Cb%3E',
    'from=yesterday',
    'from=2026-02-02&to=2026-02-01',
    'cursor=-1',
  ])('with %s shows an error on the page and for the export', async (query) => {
    const page = await customer.visitor.get(`/account/ledger?${query}`);
    expect(page.status).toBe(400);
    expect(page.text).toContain('The filter is not valid');
    if (!query.startsWith('cursor')) expect(page.html).toContain('class="fault"');
    expect((await customer.visitor.get(`/account/ledger.csv?${query}`)).status).toBe(400);
  });

  test('has pages without a gap', async () => {
    const plain = await customer.client.get('/api/quota');
    expect(plain.status).toBe(200);
    const lines = await ledgerLines(souk.database, customer.accountId, { limit: 100 });
    const middle = lines[Math.floor(lines.length / 2)]?.id;
    const { html } = await customer.visitor.get(`/account/ledger?cursor=${middle}`);
    const shown = [...html.matchAll(/<td class="number muted"[^>]*>(\d+)<\/td>/g)].map(([, id]) =>
      Number(id),
    );
    expect(shown).toEqual(lines.map(({ id }) => id).filter((id) => id < (middle ?? 0)));
    expect(html).toContain('Newest');
  });
});

describe('the page of usage', () => {
  test('has every day of the period, and one series for the operations with the fewest units', () => {
    const rows = Array.from({ length: 9 }, (_, i) => ({
      day: i < 5 ? '2026-03-02' : '2026-02-28',
      operation: `some.operation${i}`,
      calls: 1,
      units: 10 - i,
    }));
    const { names, days } = usageSeries(rows, { days: 7, now: NOW, measure: 'units' });
    expect(names).toEqual([0, 1, 2, 3, 4].map((i) => `some.operation${i}`).concat(OTHERS));
    expect(days.map(({ day, units, calls }) => [day, units, calls])).toEqual([
      ['2026-02-24', 0, 0],
      ['2026-02-25', 0, 0],
      ['2026-02-26', 0, 0],
      ['2026-02-27', 0, 0],
      ['2026-02-28', 14, 4],
      ['2026-03-01', 0, 0],
      ['2026-03-02', 40, 5],
    ]);
    for (const { bySeries, units } of days)
      expect(Object.values(bySeries).reduce((sum, value) => sum + value, 0)).toBe(units);
  });

  test('tells an account without calls that it has no usage', async ({ souk }) => {
    const { visitor } = await signedIn(souk);
    expect((await visitor.get('/account/usage')).text).toContain('No calls in the last 30 days.');
  });

  test('shows calls and units by day and operation, as a chart and a table', async ({ souk }) => {
    const { visitor, client } = await signedIn(souk);
    await client.get(`/api/market/product?domain=1&asins=${newAsin()},${newAsin()}`);
    await client.get(`/api/market/graphimage?domain=1&asin=${newAsin()}`);
    const day = new Date(souk.clock.now()).toISOString().slice(0, 10);
    const page = await visitor.get('/account/usage?days=7');
    expect(page.html).toContain(
      `<title>${day}: 3 units, 2 calls\nmarket.product 2\nmarket.graphimage 1</title>`,
    );
    expect(page.html).toMatch(/<rect class="series-1"/);
    expect(page.html).not.toContain('style=');
    expect(page.text).toContain('market.product 1 2');
    expect(page.text).toContain(`${day} 2 1 3`);
    expect((await visitor.get('/account/usage?measure=calls')).html).toContain('Bar chart of calls per day');
  });

  test.for(['days=8', 'days=<b>', 'measure=money', 'days=7&days=90'])(
    'shows the page for the invalid period %s',
    async (query, { souk }) => {
      const { visitor } = await signedIn(souk);
      expect((await visitor.get(`/account/usage?${query}`)).status).toBe(200);
    },
  );
});
