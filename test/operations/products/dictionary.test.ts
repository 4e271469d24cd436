import { describe, expect, test } from 'vitest';
import { AS_SENT } from '../../../src/operations/products/dictionary/field.ts';
import { fieldNames, PRODUCT_FIELDS, seriesRows } from '../../../src/operations/products/dictionary/index.ts';
import { SERIES_COUNT } from '../../../src/operations/products/history.ts';
import { type Fields, recordingsOf } from '../../support/recorded-shapes.ts';

test.each([undefined, 'stats', 'offers'] as const)('the names of the fields of %s are unique', (of) => {
  const names = fieldNames(of);
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test.each(PRODUCT_FIELDS)('each field of $title has a meaning that fits a cell of a table', ({ fields }) => {
  for (const [name, , meaning, { none = '-', decode = '-' } = {}] of fields) {
    expect(name).toMatch(/^[a-z]\w*$/i);
    expect(meaning).toMatch(/^(?:[\dA-Z]|`).{3,}$/);
    for (const cell of [meaning, none, decode]) expect(cell).toMatch(/^[^|\n]+$/);
  }
});

test('a meaning that the provider does not document is not guessed', () => {
  const undocumented = PRODUCT_FIELDS.flatMap(({ fields }) => fields).filter(
    ([, , text]) => text === AS_SENT,
  );
  expect(undocumented.map(([name]) => name)).toEqual(expect.arrayContaining(['g', 'primeDealEndTime']));
});

test('each series has a row, and those that the provider fills on request name the parameter', () => {
  const rows = seriesRows();
  expect(rows).toHaveLength(SERIES_COUNT);
  expect(rows[1]).toMatchObject({ name: 'new', unit: 'price', point: 'time, value', needs: '' });
  expect(rows[18]).toMatchObject({
    name: 'buyBox',
    point: 'time, price, shipping',
    needs: '`buybox=1` or `offers`',
  });
});

const recorded = recordingsOf('product-').flatMap(({ file, answer }) =>
  ((answer.products ?? [answer]) as Fields[]).map((product) => ({ file, product })),
);

describe.skipIf(recorded.length === 0)('recorded products (where ../shared/fixtures/keepa exists)', () => {
  test.each(recorded)('$file has only fields of the dictionary', ({ product }) => {
    const { stats, offers } = product as { stats?: Fields | null; offers?: Fields[] | null };
    expect(unlisted([product])).toEqual([]);
    expect(unlisted([stats ?? {}], 'stats')).toEqual([]);
    expect(unlisted(offers ?? [], 'offers')).toEqual([]);
  });
});

function unlisted(records: readonly Fields[], of?: 'stats' | 'offers'): string[] {
  const names = new Set(fieldNames(of));
  return [...new Set(records.flatMap(Object.keys))].filter((name) => !names.has(name));
}
