import { buffer } from 'node:stream/consumers';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { columnsFrom, type Row } from '../../../../src/operations/tables/columns.ts';
import { writeTable } from '../../../../src/results/tables/write-table.ts';
import { columnOf } from '../../../../src/site/customer/uploads/file-column.ts';
import { readFile } from '../../../../src/site/customer/uploads/read-file.ts';
import { rowsOfFile } from '../../../../src/site/customer/uploads/read-rows.ts';
import { rows as lines } from '../../../support/words.ts';

const ASINS = ['B08N5WRWNX', 'B07FZ8S74R'];
const text = (content: string) => new TextEncoder().encode(content);

describe('the column of a file', () => {
  /** A file by its lines with a slash between them, and commas between its cells. */
  const rowsIn = (text: string) => text.split('/').map((line) => line.split(','));

  test.each(
    lines(`
      named asin                  | Title,ASIN/Lamp,B08N5WRWNX/Pump,b07fz8s74r            | ASIN
      with the most ASINs         | Name,Id/B08N5WRWNX,B08N5WRWNX/Pump,B07FZ8S74R         | Id
      without a heading           | B08N5WRWNX/B07FZ8S74R/B08N5WRWNX                      |
      behind empty rows and cells | ,/,asin/x,/y,B08N5WRWNX/,B07FZ8S74R                   | asin
    `),
  )('is the one %s', (_, text = '', heading = '') => {
    expect(columnOf(rowsIn(text), 'asins')).toMatchObject({ values: ASINS, heading: heading || null });
  });

  test('is the one with addresses of products', () => {
    const rows = [['Link'], ['https://www.amazon.com/Some-Thing/dp/B08N5WRWNX?th=1'], ['B07FZ8S74R']];
    expect(columnOf(rows, 'asins')).toMatchObject({ values: ASINS, heading: 'Link' });
  });

  test('keeps a value that is not an ASIN, so that the service names it', () => {
    expect(columnOf([['ASIN'], ['B08N5WRWNX'], ['oops']], 'asins')?.values).toEqual(['B08N5WRWNX', 'oops']);
  });

  test('is the named one or the first with texts for terms, and null without any', () => {
    expect(columnOf(rowsIn('Rank,Search Term/1,garlic press/2,tent'), 'texts')).toMatchObject({
      values: ['garlic press', 'tent'],
      heading: 'Search Term',
    });
    expect(columnOf(rowsIn('1,garlic press/2,tent'), 'texts')).toMatchObject({ heading: null });
    expect(columnOf(rowsIn('1/2'), 'texts')).toBeNull();
    expect(columnOf(rowsIn('title/Lamp'), 'asins')).toBeNull();
  });
});

describe('the rows of a file', () => {
  const rows: Row[] = [
    { asin: 'B08N5WRWNX', price: 79.99, seenAt: '2026-03-04T10:20:00Z' },
    { asin: 'B07FZ8S74R', price: null },
  ];
  const columns = columnsFrom({ asin: ['text', 'a'], price: ['number', 'p'], seenAt: ['time', 't'] });
  const sheet = (of: Iterable<Row>) =>
    buffer(writeTable('xlsx', { name: 'products', columns }, [...of] as never));

  test.each<[string, Uint8Array]>([
    ['CSV with a mark', text('\ufeffasin,price\nB08N5WRWNX,"79.99"\n')],
    ['CSV with semicolons', text('asin;price\nB08N5WRWNX;79.99\n')],
    ['tabs in UTF-16', Buffer.from('\ufeffasin\tprice\nB08N5WRWNX\t79.99\n', 'utf16le')],
  ])('are read from %s', async (_, bytes) => {
    expect((await rowsOfFile(bytes)).map((row) => row.map((cell) => cell.replace('\ufeff', '')))).toEqual([
      ['asin', 'price'],
      ['B08N5WRWNX', '79.99'],
    ]);
  });

  test('are read from CSV in the code page of Windows, so that terms keep their letters', async () => {
    const bytes = Buffer.from('Begriff;Preis\nGröße für Gärten;1\n', 'latin1');
    expect((await rowsOfFile(bytes))[1]).toEqual(['Größe für Gärten', '1']);
    expect((await rowsOfFile(text('Begriff;Preis\nGröße;1\n')))[1]).toEqual(['Größe', '1']);
  });

  test('are read from XLSX', async () => {
    expect(await rowsOfFile(await sheet(rows))).toEqual([
      ['asin', 'price', 'seenAt'],
      ['B08N5WRWNX', '79.99', '2026-03-04T10:20:00.000Z'],
      ['B07FZ8S74R', '', ''],
    ]);
  });

  test('are those of 50,000 products, in a thread', async () => {
    const many = Array.from({ length: 50_000 }, (_, i) => ({
      asin: `B${String(i).padStart(9, '0')}`,
      price: i,
    }));
    const column = await readFile(await sheet(many), 'asins');
    expect(column).toMatchObject({ heading: 'asin' });
    expect('values' in column && column.values).toHaveLength(50_000);
  });

  /** An archive of one part, whose stated size is wrong. */
  function bomb(size: number): Buffer {
    const data = deflateRawSync(Buffer.alloc(size));
    const name = Buffer.from('xl/worksheets/sheet1.xml');
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(8, 8);
    local.writeUInt32LE(data.length, 18);
    local.writeUInt32LE(10, 22);
    local.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(8, 10);
    entry.writeUInt32LE(data.length, 20);
    entry.writeUInt32LE(10, 24);
    entry.writeUInt16LE(name.length, 28);
    const end = Buffer.alloc(22);
    end.writeUInt32LE(0x06054b50, 0);
    end.writeUInt16LE(1, 10);
    end.writeUInt32LE(46 + name.length, 12);
    end.writeUInt32LE(30 + name.length + data.length, 16);
    return Buffer.concat([local, name, data, entry, name, end]);
  }

  test.each<[string, Uint8Array, string]>([
    ['an archive that is larger than 64 MiB when decompressed', bomb(80 * 2 ** 20), '64 MiB'],
    ['an archive without an end', bomb(100).subarray(0, 80), 'complete'],
    ['an archive of something else', bomb(100), 'save it as CSV'],
    ['a picture', Buffer.from([0x89, 0x50, 0, 0, 1]), 'must be a CSV'],
    ['more than 100,000 rows', text('B08N5WRWNX\n'.repeat(100_002)), '100000 rows'],
    ['a line of quoted values that is long', text('"a",'.repeat(1_000_000)), 'a line of more than 65536'],
    ['a file without ASINs', text('title\nLamp\n'), 'has no column with ASINs'],
  ])('are refused for %s', async (_, bytes, problem) => {
    expect(await readFile(bytes, 'asins')).toEqual({ problem: expect.stringContaining(problem) });
  });
});

test('a file is refused while five others are being read or wait', async () => {
  const bytes = Buffer.from('asin\nB0C3CDEF01\n');
  const read = await Promise.all(Array.from({ length: 7 }, () => readFile(bytes, 'asins')));
  expect(read.filter((one) => 'problem' in one)).toEqual(
    Array.from({ length: 2 }, () => ({ problem: expect.stringContaining('try again in a minute') })),
  );
});
