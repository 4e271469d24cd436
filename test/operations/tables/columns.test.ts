import { describe, expect, test } from 'vitest';
import { QUEUED } from '../../../src/operations/index.ts';
import { product } from '../../../src/operations/market/product.ts';
import { fromKeepaMinutes } from '../../../src/operations/products/history.ts';
import type { Row } from '../../../src/operations/tables/columns.ts';
import { OPERATION_SAMPLES } from '../../support/operation-samples.ts';

const TABLES = QUEUED.flatMap(({ name, params, tables }) =>
  Object.entries(tables ?? {}).map(([table, { columns }]) => {
    const [sample] = OPERATION_SAMPLES[name] ?? [];
    return { id: `${name} ${table}`, columns: columns(params.parse(sample)) };
  }),
);

test.each(TABLES)('each column of $id has a name of its own and a meaning', ({ columns }) => {
  expect(new Set(columns.map(({ name }) => name)).size).toBe(columns.length);
  for (const { name, meaning } of columns) {
    expect(name).toMatch(/^[a-z]\w*$/i);
    // The values of a table have units that people know, and none stands for missing data.
    expect(meaning).toMatch(/^(?!.*(?:-1:|cents|x 10)).{2,}/);
  }
});

test('tables of reports have the site, and the week where there is one', () => {
  const ofReports = TABLES.filter(({ id }) => /^aba\.|research\.screen/.test(id));
  expect(ofReports.length).toBeGreaterThan(5);
  for (const { id, columns } of ofReports) {
    const names = columns.map(({ name }) => name);
    expect({ id, names }).toEqual({ id, names: expect.arrayContaining(['country']) });
    expect(names.includes('reportDate') || names.includes('week')).toBe(true);
  }
});

describe('the days of a product', () => {
  const rowsOf = (input: object, record: object, at?: number) => {
    const parsed = product.params.parse({ domain: 5, asins: ['B0DAILY001'], detailLevel: 'full', ...input });
    const data = { domainId: 5, products: [{ asin: 'B0DAILY001', ...record }] };
    return [...(product.tables?.daily?.rows(data, parsed, at) ?? [])];
  };
  const DAY = 1_440;
  const csv = [[100 * DAY, 500, 101 * DAY, 510, 101 * DAY + 60, 520], null, null, [102 * DAY, 7]];

  test('have the value at the end of each day, up to the last update', () => {
    const rows = rowsOf({}, { csv, lastUpdate: 103 * DAY + 5 });
    expect(rows.map(({ day, amazon, salesRank }: Row) => [day, amazon, salesRank])).toEqual([
      ['2011-04-11', 500, undefined],
      ['2011-04-12', 520, undefined],
      ['2011-04-13', 520, 7],
      ['2011-04-14', 520, 7],
    ]);
  });

  test('are those of the requested period', () => {
    expect(rowsOf({ days: 2 }, { csv, lastUpdate: 103 * DAY }).map(({ day }) => day)).toEqual([
      '2011-04-13',
      '2011-04-14',
    ]);
    const dateRange = { start: Date.UTC(2011, 3, 12), end: Date.UTC(2011, 3, 12, 23) };
    expect(rowsOf({ dateRange }, { csv, lastUpdate: 103 * DAY }).map(({ day }) => day)).toEqual([
      '2011-04-12',
    ]);
  });

  test.each([
    ['with the last update', 103 * DAY],
    ['today without a known last update', -1],
  ])('end %s, even if a lightning deal ends later', (_, lastUpdate) => {
    const lightningDeal = [98 * DAY, -1, 102 * DAY, 400, 106 * DAY, -1];
    const record = { csv: [csv[0], null, null, null, null, null, null, null, lightningDeal], lastUpdate };
    const days = (input: object) =>
      rowsOf(input, record, fromKeepaMinutes(103 * DAY + 60)).map(({ day, lightningDeal }) => [
        day,
        lightningDeal,
      ]);
    const expected = [
      ['2011-04-13', 400],
      ['2011-04-14', 400],
    ];
    expect(days({ days: 2 })).toEqual(expected);
    expect(days({}).slice(-2)).toEqual(expected);
    const dateRange = { start: Date.UTC(2011, 3, 13), end: Date.UTC(2011, 3, 30) };
    expect(days({ dateRange })).toEqual(expected);
  });

  test('of a period begin with it, also if the last update was days before', () => {
    const input = product.params.parse({ domain: 5, asins: ['B0DAILY001'], days: 10, decode: true });
    const csv = [[95 * DAY, 500, 97 * DAY, 510, 99 * DAY, 520, 101 * DAY, 530], null, null, [80 * DAY, 7]];
    const now = fromKeepaMinutes(110 * DAY + 60);
    const { respond } = product;
    if (respond.type !== 'json') throw new Error('products are JSON');
    const rowsUpdatedOn = (lastUpdate: number) => {
      const found = new Map([['B0DAILY001', { asin: 'B0DAILY001', domainId: 5, csv, lastUpdate }]]);
      const { data } = respond.present(found, input, { now });
      const rows = [...(product.tables?.daily?.rows(data, input, now) ?? [])];
      return rows.map(({ day, amazon, salesRank }: Row) => [day, amazon, salesRank]);
    };
    expect(rowsUpdatedOn(103 * DAY)).toEqual([
      ['2011-04-12', 530, 7],
      ['2011-04-13', 530, 7],
      ['2011-04-14', 530, 7],
    ]);
  });

  test('are none without histories, and at most 10,000 with malformed times', () => {
    expect(rowsOf({}, { csv: null })).toEqual([]);
    expect(rowsOf({}, { csv: [[0, 5, 2_000_000_000, 6]] })).toHaveLength(10_000);
  });
});
