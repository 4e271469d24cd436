import { expect } from 'vitest';
import { OTHERS, usageSeries } from '../../../src/site/customer/usage.tsx';
import { drawsPictures, knowsEveryProduct, newAsin } from '../../support/answers.ts';
import { type Customer, PAGES, signedIn } from '../../support/customer.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';

const NOW = Date.parse('2026-03-02T12:00:00Z');

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

test.override('soukOptions', { pages: PAGES });
let souk: Souk;
let customer: Customer;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  souk.upstream.on('product', knowsEveryProduct);
  souk.upstream.on('graphimage', drawsPictures);
  customer = await signedIn(souk);
});

test('tells an account without calls that it has no usage', async () => {
  expect((await customer.visitor.get('/account/usage')).text).toContain('No calls in the last 30 days.');
});

test('shows calls and units by day and operation, as a chart and a table', async () => {
  await customer.client.get(`/api/market/product?domain=1&asins=${newAsin()},${newAsin()}`);
  await customer.client.get(`/api/market/graphimage?domain=1&asin=${newAsin()}`);
  const day = new Date(souk.clock.now()).toISOString().slice(0, 10);
  const page = await customer.visitor.get('/account/usage?days=7');
  expect(page.html).toContain(
    `<title>${day}: 3 units, 2 calls\nmarket.product 2\nmarket.graphimage 1</title>`,
  );
  expect(page.html).toMatch(/<rect class="series-1"/);
  expect(page.html).not.toContain('style=');
  expect(page.text).toContain('market.product 1 2');
  expect(page.text).toContain(`${day} 2 1 3`);
  expect((await customer.visitor.get('/account/usage?measure=calls')).html).toContain(
    'Bar chart of calls per day',
  );
});

test.each(['days=8', 'days=<b>', 'measure=money', 'days=7&days=90'])(
  'shows the page for the invalid period %s',
  async (query) => {
    expect((await customer.visitor.get(`/account/usage?${query}`)).status).toBe(200);
  },
);
