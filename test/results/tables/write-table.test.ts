import { once } from 'node:events';
import { buffer, text } from 'node:stream/consumers';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import readExcelFile, { readSheet } from 'read-excel-file/node';
import { describe, expect, test } from 'vitest';
import { columnsFrom, type Row, type TableShape } from '../../../src/operations/tables/columns.ts';
import { TABLE_FORMAT_NAMES } from '../../../src/operations/tables/formats.ts';
import { writeTable } from '../../../src/results/tables/write-table.ts';
import { xlsxOf } from '../../../src/results/tables/xlsx.ts';

const TABLE: TableShape = {
  name: 'offers',
  columns: columnsFrom({
    asin: ['text', 'The ASIN'],
    category: ['integer', 'Id of the category'],
    price: ['number', 'Price in the currency of the site'],
    isPrime: ['boolean', 'Whether it is a Prime offer'],
    seenAt: ['time', 'When the offer was seen'],
    day: ['date', 'The day'],
  }),
};

const ROWS: readonly Row[] = [
  {
    asin: 'B08N5WRWNX',
    category: 172282,
    price: 79.99,
    isPrime: true,
    seenAt: '2026-03-04T10:20:00Z',
    day: '2026-03-04',
    further: 'is ignored',
  },
  {
    asin: '=HYPERLINK("x")',
    category: 9_223_372_036_854_775_807n,
    price: -1.5,
    isPrime: false,
    seenAt: null,
  },
  { asin: 'a <b> & "c"\u0001\ud800 _x0041_', category: null },
];

const asArrayBuffer = ({ buffer, byteOffset, byteLength }: Buffer) =>
  buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;

async function* many(count: number, onReturn = () => {}): AsyncGenerator<Row> {
  try {
    for (let i = 0; i < count; i += 1)
      yield { asin: `B${i}`, category: i, price: i / 100, isPrime: i % 2 === 0 };
  } finally {
    onReturn();
  }
}

async function* failing(): AsyncGenerator<Row> {
  yield* many(20_000);
  throw new Error('no more rows');
}

test('writes CSV that no spreadsheet runs, with empty cells where there are no data', async () => {
  expect(await text(writeTable('csv', TABLE, ROWS))).toBe(
    [
      'asin,category,price,isPrime,seenAt,day',
      'B08N5WRWNX,172282,79.99,true,2026-03-04T10:20:00Z,2026-03-04',
      `"'=HYPERLINK(""x"")",9223372036854775807,-1.5,false,,`,
      '"a <b> & ""c""\u0001\ufffd _x0041_",,,,,',
      '',
    ].join('\n'),
  );
});

test('writes NDJSON with the columns only, and null where there are no data', async () => {
  const [first, second] = (await text(writeTable('ndjson', TABLE, ROWS))).split('\n');
  expect(JSON.parse(first ?? '')).toEqual({
    asin: 'B08N5WRWNX',
    category: 172282,
    price: 79.99,
    isPrime: true,
    seenAt: '2026-03-04T10:20:00Z',
    day: '2026-03-04',
  });
  expect(second).toBe(
    '{"asin":"=HYPERLINK(\\"x\\")","category":9223372036854775807,"price":-1.5,"isPrime":false,"seenAt":null,"day":null}',
  );
});

test('writes Parquet that hyparquet reads, with types, nulls and the meaning of the columns', async () => {
  const file = asArrayBuffer(await buffer(writeTable('parquet', TABLE, ROWS)));
  expect(await parquetReadObjects({ file })).toEqual([
    {
      asin: 'B08N5WRWNX',
      category: 172282n,
      price: 79.99,
      isPrime: true,
      seenAt: new Date('2026-03-04T10:20:00Z'),
      day: new Date('2026-03-04'),
    },
    {
      asin: '=HYPERLINK("x")',
      category: 9_223_372_036_854_775_807n,
      price: -1.5,
      isPrime: false,
      seenAt: null,
      day: null,
    },
    expect.objectContaining({ category: null, price: null, isPrime: null, seenAt: null, day: null }),
  ]);
  const { key_value_metadata: metadata = [] } = parquetMetadata(file);
  const columns = metadata.find(({ key }) => key === 'souk.columns')?.value ?? '';
  expect(JSON.parse(columns)).toEqual(TABLE.columns);
});

test('writes a workbook that another library reads, with types, and the meaning of the columns on its second sheet', async () => {
  const file = await buffer(writeTable('xlsx', TABLE, ROWS));
  expect(await readSheet(file, 'offers')).toEqual([
    ['asin', 'category', 'price', 'isPrime', 'seenAt', 'day'],
    ['B08N5WRWNX', 172282, 79.99, true, new Date('2026-03-04T10:20:00Z'), new Date('2026-03-04T00:00:00Z')],
    ['=HYPERLINK("x")', '9223372036854775807', -1.5, false, null, null],
    ['a <b> & "c"\ufffd _x0041_', null, null, null, null, null],
  ]);
  expect(await readSheet(file, 'columns')).toEqual([
    ['column', 'type', 'meaning'],
    ...TABLE.columns.map(({ name, type, meaning }) => [name, type, meaning]),
  ]);
});

test('continues on a further sheet beyond the rows that a sheet can have', async () => {
  const sheets = await readExcelFile(await buffer(xlsxOf(TABLE, many(5), 3)));
  expect(sheets.map(({ sheet, data }) => [sheet, data.map(([asin]) => asin)])).toEqual([
    ['offers', ['asin', 'B0', 'B1']],
    ['offers 2', ['asin', 'B2', 'B3']],
    ['offers 3', ['asin', 'B4']],
    ['columns', ['column', ...TABLE.columns.map(({ name }) => name)]],
  ]);
});

describe.each(TABLE_FORMAT_NAMES)('as %s', (format) => {
  test('has columns without rows', async () => {
    const bytes = await buffer(writeTable(format, TABLE, []));
    if (format === 'csv') expect(String(bytes)).toBe('asin,category,price,isPrime,seenAt,day\n');
    else if (format === 'ndjson') expect(String(bytes)).toBe('');
    else if (format === 'xlsx') expect(await readSheet(bytes, 'offers')).toHaveLength(1);
    else expect(await parquetReadObjects({ file: asArrayBuffer(bytes) })).toEqual([]);
  });

  test('has all of many rows', async () => {
    const bytes = await buffer(writeTable(format, TABLE, many(30_000)));
    const last = { asin: 'B29999', category: 29_999, price: 299.99 };
    if (format === 'csv') expect(String(bytes).split('\n').at(-2)).toBe('B29999,29999,299.99,false,,');
    else if (format === 'ndjson')
      expect(JSON.parse(String(bytes).split('\n').at(-2) ?? '')).toMatchObject(last);
    else if (format === 'xlsx')
      expect((await readSheet(bytes, 'offers')).at(-1)).toEqual([...Object.values(last), false, null, null]);
    else
      expect((await parquetReadObjects({ file: asArrayBuffer(bytes) })).at(-1)).toMatchObject({
        ...last,
        category: 29_999n,
      });
  });

  test('fails with the error of its rows', async () => {
    await expect(buffer(writeTable(format, TABLE, failing()))).rejects.toThrow('no more rows');
  });

  test('ends the rows when its reader stops', async () => {
    const { promise: returned, resolve } = Promise.withResolvers<void>();
    const output = writeTable(format, TABLE, many(1_000_000, resolve));
    await once(output, 'readable');
    output.destroy();
    await returned;
  });
});
