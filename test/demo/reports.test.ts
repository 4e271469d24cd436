import Papa from 'papaparse';
import { expect } from 'vitest';
import { csvOf } from '../../demo/reports/formats.ts';
import { type RankedTerm, rankingOf } from '../../demo/reports/ranking.ts';
import { termAt } from '../../demo/reports/vocabulary.ts';
import { test } from '../support/souk-test.ts';

const WEEK = 2_960;
const ranking = (site: string, week: number, terms = 400) => [
  ...rankingOf({ site, week, terms, productsPerLeaf: 60 }),
];

test('a week does not depend on the weeks generated before', () => {
  const first = ranking('us', WEEK);
  ranking('jp', WEEK, 50);
  ranking('us', WEEK + 1, 2_000);
  expect(ranking('us', WEEK)).toEqual(first);
});

test.each(['us', 'uk', 'de', 'fr', 'it', 'es', 'ca', 'mx', 'jp'])(
  'a week of %s has different terms from rank 1 on, each with one to three products',
  (site) => {
    const terms = ranking(site, WEEK);
    expect(terms.map(({ rank }) => rank)).toEqual(Array.from({ length: 400 }, (_, i) => i + 1));
    expect(new Set(terms.map(({ term }) => term)).size).toBe(400);
    for (const { products } of terms) {
      expect([1, 2, 3]).toContain(new Set(products.map(({ asin }) => asin)).size);
      expect(products.map(({ click }) => click)).toEqual(
        products.map(({ click }) => click).sort((a, b) => b - a),
      );
      expect(products.reduce((sum, { click }) => sum + click, 0)).toBeLessThanOrEqual(100);
    }
  },
);

test('terms rise, fall, appear and disappear from week to week', () => {
  const [before, after] = [WEEK, WEEK + 1].map(
    (week) => new Map(ranking('us', week, 2_000).map(({ term, rank }) => [term, rank])),
  );
  const changes = [...(after ?? [])].map(([term, rank]) => {
    const was = before?.get(term);
    return was === undefined ? 'new' : Math.sign(was - rank);
  });
  expect(new Set(changes)).toEqual(new Set(['new', 1, -1, 0]));
  expect([...(before ?? [])].some(([term]) => !after?.has(term))).toBe(true);
});

test.each(['us', 'uk', 'de', 'fr', 'it', 'es', 'ca', 'mx', 'jp'])(
  'no term of %s has a word twice, and 20,000 are different',
  (site) => {
    const terms = Array.from({ length: 20_000 }, (_, n) => termAt(site, n).term);
    expect(new Set(terms).size).toBe(terms.length);
    const stems = (term: string) => term.split(/[ -]/).map((word) => word.replace(/s$/, ''));
    expect(terms.filter((term) => new Set(stems(term)).size < stems(term).length)).toEqual([]);
  },
);

test('sites with the same language search most for different terms', () => {
  const first = ['us', 'uk', 'ca'].map((site) => ranking(site, WEEK, 20).map(({ term }) => term));
  for (const [i, terms] of first.entries())
    for (const other of first.slice(i + 1)) expect(terms.slice(0, 5)).not.toEqual(other.slice(0, 5));
});

test('a term of the better half of a week is in all weeks before, with other shares of its products', () => {
  const weeks = [0, 1, 2, 3, 4].map((ago) => ranking('us', WEEK - ago, 1_000));
  for (const { term, products } of weeks[0]?.slice(0, 500) ?? []) {
    const found = weeks.map((week) => week.find((one) => one.term === term)?.products);
    expect(found).not.toContain(undefined);
    expect(new Set(found.map((one) => one?.[0]?.click)).size).toBeGreaterThan(
      products[0]?.click === 0 ? 0 : 1,
    );
  }
});

test('the demo provider has the same titles and brands for these products', async ({ demo }) => {
  const terms = ranking('us', WEEK, 30).filter(({ brands, products }) => brands.length === products.length);
  const named = new Map(terms.flatMap(({ products }) => products.map(({ asin, title }) => [asin, title])));
  const { json } = await demo.get('product', { domain: 1, asin: [...named.keys()].join(), history: 0 });
  const found = new Map<string, { title: string; brand: string }>(
    json.products.map((product: { asin: string }) => [product.asin, product]),
  );
  const titles = [...found].map(([asin, { title }]): [string, string] => [asin, title]);
  expect(new Map(titles)).toEqual(named);
  for (const { brands, products } of terms)
    expect(new Set(products.map(({ asin }) => found.get(asin)?.brand))).toEqual(new Set(brands));
});

test('writes the ranking as CSV, with quotes, commas and line ends', () => {
  const odd: RankedTerm = {
    rank: 1,
    term: '15" screen, "matt"',
    brands: ['Acme', 'Umbra'],
    categories: ['Office Products'],
    products: [
      { asin: 'B000000001', title: 'Screen, 15",\nblack', click: 12.5, conversion: null },
      { asin: 'B000000002', title: 'Screen', click: 3, conversion: 0.25 },
    ],
  };
  const plain = ranking('jp', WEEK, 5_000).slice(1);
  const text = [...csvOf([odd, ...plain], '2026-10-25', '2026-10-31')].join('');
  const [first, names, ...rows] = Papa.parse<string[]>(text.trimEnd(), { newline: '\n' }).data;
  expect(first?.join()).toContain('2026-10-25 - 2026-10-31');
  expect(names).toHaveLength(21);
  expect(rows).toHaveLength(5_000);
  expect(rows[0]).toEqual([
    '1',
    odd.term,
    'Acme',
    'Umbra',
    '',
    'Office Products',
    '',
    '',
    'B000000001',
    'Screen, 15",\nblack',
    '12.5',
    '',
    'B000000002',
    'Screen',
    '3',
    '0.25',
    '',
    '',
    '',
    '',
    '2026-10-31',
  ]);
  for (const [i, { rank, term, products }] of plain.entries()) {
    const row = rows[i + 1] ?? [];
    expect(row.slice(0, 2)).toEqual([String(rank), term]);
    expect([row[8], row[12], row[16]].filter(Boolean)).toEqual(products.map(({ asin }) => asin));
  }
});
