import { describe, expect, test } from 'vitest';
import { categoriesPage } from '../../../../src/site/customer/explore/categories-page.tsx';
import { keywordSeries } from '../../../../src/site/customer/explore/keyword-view.tsx';
import { pageIn, productRow, sortedBy } from '../../../../src/site/customer/explore/product-lists.tsx';
import { percent } from '../../../../src/site/customer/explore/product-parts.tsx';
import { dealRows, finderPage } from '../../../../src/site/customer/explore/search-pages.tsx';
import { interestSeries } from '../../../../src/site/customer/explore/trends-page.tsx';
import { rowsOf, valueText } from '../../../../src/site/kit/time-chart.tsx';

describe('a list', () => {
  const rows = Array.from({ length: 65 }, (_, i) => i);

  test('is shown thirty at a time', () => {
    expect(pageIn(rows, { page: '1' })).toEqual({ rows: rows.slice(30, 60), page: 1, total: 65 });
    expect(pageIn(rows, {}).rows).toEqual(rows.slice(0, 30));
  });

  test.each([['9'], ['-1'], ['x']])('has a page for the number %s in the address', (page) => {
    expect([0, 2]).toContain(pageIn(rows, { page }).page);
  });

  test('has rows without a value last, in both directions', () => {
    const prices = [{ price: null }, { price: 2 }, { price: 10 }];
    const sorted = (isDescending: boolean) =>
      sortedBy(prices, 'price', isDescending).map(({ price }) => price);
    expect([sorted(false), sorted(true)]).toEqual([
      [2, 10, null],
      [10, 2, null],
    ]);
  });
});

test('a product of a list has null where the provider has -1', () => {
  const product = { asin: 'B0C3CDEF01', title: 'A', price: 1999, bsr: -1, rating: 45, reviewCount: 3 };
  expect(productRow(product, 1)).toEqual({
    asin: 'B0C3CDEF01',
    title: 'A',
    brand: null,
    image: null,
    price: 19.99,
    rank: null,
    rating: 4.5,
    reviews: 3,
    sold: null,
  });
});

test('a deal has the name of its picture, and the fall of the chosen price in the chosen period', () => {
  const deal = {
    asin: 'B0C3CDEF01',
    image: [65, 46, 106, 112, 103],
    current: [-1, 900],
    delta: [[], [0, 100]],
    deltaPercent: [[], [0, 10]],
  };
  expect(dealRows({ domainId: 1, deals: { dr: [deal] } }, 1, '1')).toEqual([
    { asin: 'B0C3CDEF01', title: null, image: 'A.jpg', price: 9, fall: 1, percent: 10 },
  ]);
});

test('the finder sends prices in whole yen for the Japanese site', () => {
  const [view] = finderPage.views({ domain: '5', priceMin: '1000', priceMax: '2500' }) ?? [];
  expect(view?.parameters).toEqual({ domain: 5, current_NEW_gte: 1000, current_NEW_lte: 2500 });
});

test('a share has the two decimals of the reports in tables and charts', () => {
  expect(percent(2.05)).toBe('2.05%');
  const week = { week: '2026-01-10' };
  const texts = keywordSeries({
    history: [{ ...week, rank: 5, isLoaded: true }],
    concentration: {
      clickShare: 2.05,
      conversionShare: 2,
      change12: null,
      history: [{ ...week, clickShare: 2.05, conversionShare: 2 }],
    },
  }).map(({ points, format }) => valueText(points[0]?.[1] ?? null, format));
  expect(texts).toEqual(['5', '2.05%', '2.00%']);
});

test('the finder sends prices in cents and ratings in tenths, and text without a number as it is', () => {
  const [view] = finderPage.views({ priceMin: '9.99', ratingMin: '4.5', rankMax: 'x' }) ?? [];
  expect(view?.parameters).toEqual({
    domain: 1,
    current_NEW_gte: 999,
    current_RATING_gte: 45,
    current_SALES_lte: 'x',
  });
  expect(finderPage.views({ domain: '1' })).toBeNull();
  const [pasted] = finderPage.views({ selection: '{"title":"pump"}', soldMin: '5' }) ?? [];
  expect(pasted?.parameters).toEqual({ domain: 1, selection: '{"title":"pump"}', monthlySold_gte: 5 });
});

test('a category id keeps all its digits, and the roots have no best sellers', () => {
  const views = (category: string) => categoriesPage.views({ category })?.map(({ parameters }) => parameters);
  const category = '9007199254740993';
  expect(views(category)).toEqual([
    { domain: 1, category, parents: true, children: true },
    { domain: 1, category },
  ]);
  expect(views('0')).toEqual([{ domain: 1, category: '0' }]);
});

test('a series of interest has a gap in a period without data', () => {
  const values = (value: number, hasData: boolean) => [{ query: 'kettle', value, hasData }];
  const timelineData = [
    { timestamp: 60, date: '', values: values(70, true) },
    { timestamp: 120, date: '', values: values(0, false) },
  ];
  expect(interestSeries({ timelineData })[0]?.points).toEqual([
    [60_000, 70],
    [120_000, null],
  ]);
});

test('the table of a trend of hours has a row for each of them', () => {
  const at = Date.parse('2026-01-03T00:00Z');
  const points = [0, 1, 2].map((hour) => [at + hour * 3_600_000, hour] as const);
  expect(rowsOf([{ name: 'kettle', scale: 'index', shown: true, points }], 'hours')).toHaveLength(3);
});

test('the chart of a keyword begins with the first loaded week, and a week without a rank is a gap', () => {
  const weeks = ['2026-01-03', '2026-01-10', '2026-01-17', '2026-01-24'];
  const ranks = [null, 5, null, 6];
  const history = weeks.map((week, i) => ({ week, rank: ranks[i] ?? null, isLoaded: i > 0 }));
  const shares = weeks.map((week, i) => ({ week, clickShare: i === 2 ? null : i, conversionShare: null }));
  const concentration = { clickShare: 3, conversionShare: null, change12: null, history: shares };
  const [rank, clicks] = keywordSeries({ history, concentration });
  expect(rank?.points).toEqual([
    [Date.parse('2026-01-10'), 5],
    [Date.parse('2026-01-17'), null],
    [Date.parse('2026-01-24'), 6],
  ]);
  expect(clicks?.points.map(([, value]) => value)).toEqual([1, null, 3]);
});
