import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import {
  type Column,
  type ColumnType,
  columnsFrom,
  type Row,
  type TableShape,
} from '../../operations/tables/columns.ts';
import { stringifyJson } from '../../platform/json.ts';
import { groupsOf, type Rows } from './groups.ts';
import { timeOf } from './parquet.ts';

/** The limits of Excel. */
const MOST_ROWS = 1_048_576;
const LONGEST_TEXT = 32_767;

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

/** Numbers of the styles in `STYLES`. */
const STYLE = { header: 1, time: 2, date: 3 } as const;

const STYLES = `${HEAD}<styleSheet xmlns="${MAIN}"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy-mm-dd hh:mm:ss"/><numFmt numFmtId="165" formatCode="yyyy-mm-dd"/></numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="4"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/><xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs></styleSheet>`;

const DICTIONARY = columnsFrom({
  column: ['text', 'Name of the column'],
  type: ['text', 'Type of its values'],
  meaning: ['text', 'What the values mean'],
});

/**
 * Returns a workbook: a sheet with the rows, further ones beyond the rows that a sheet can have, and a sheet `columns` with the
 * meaning of each column. Times are in UTC.
 */
export function xlsxOf(table: TableShape, rows: Rows, mostRows = MOST_ROWS): Readable {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  zip.on('error', (error: Error) => output.destroy(error));
  void writeWorkbook(zip, output, table, rows, mostRows).catch((error: unknown) =>
    output.destroy(error as Error),
  );
  return output;
}

async function writeWorkbook(
  zip: ZipFile,
  output: Readable,
  table: TableShape,
  rows: Rows,
  mostRows: number,
): Promise<void> {
  const sheets: string[] = [];
  const addSheet = async (shape: TableShape, groups: AsyncIterable<readonly Row[]>) => {
    sheets.push(shape.name);
    const xml = Readable.from(sheetXml(shape, groups), { objectMode: false, highWaterMark: 1 });
    // The end of the output, such as a client that disconnects, ends the rows.
    const stop = () => xml.destroy();
    output.once('close', stop);
    zip.addReadStream(xml, `xl/worksheets/sheet${sheets.length}.xml`, FILE);
    await finished(xml);
    output.off('close', stop);
  };

  const groups = groupsOf(rows, table);
  try {
    const rest = { next: await groups.next() };
    while (sheets.length === 0 || !rest.next.done) {
      const name = sheets.length === 0 ? table.name : `${table.name} ${sheets.length + 1}`;
      await addSheet({ ...table, name }, upTo(mostRows - 1, groups, rest));
    }
  } finally {
    await groups.return(undefined);
  }
  await addSheet({ name: 'columns', columns: DICTIONARY }, groupsOf(dictionaryRows(table), table));
  for (const [path, xml] of partsOf(sheets)) zip.addBuffer(Buffer.from(xml), path, FILE);
  zip.end();
}

/** The same bytes for the same rows. */
const FILE = { mtime: new Date('2000-01-01T00:00:00Z'), mode: 0o100644 };

function dictionaryRows({ columns }: TableShape): Row[] {
  return columns.map(({ name, type, meaning }) => ({ column: name, type, meaning }));
}

/** Yields groups of rows up to a number of rows. @param rest the next group, or its rows that no sheet has yet. */
async function* upTo(
  most: number,
  groups: AsyncIterator<readonly Row[]>,
  rest: { next: IteratorResult<readonly Row[]> },
): AsyncGenerator<readonly Row[]> {
  let left = most;
  while (!rest.next.done && left > 0) {
    const { value: group } = rest.next;
    yield group.slice(0, left);
    rest.next = group.length > left ? { done: false, value: group.slice(left) } : await groups.next();
    left -= group.length;
  }
}

async function* sheetXml(
  { columns }: TableShape,
  groups: AsyncIterable<readonly Row[]>,
): AsyncGenerator<string> {
  const letters = columns.map((_, i) => lettersOf(i));
  const widths = columns
    .map(({ type, name }, i) => {
      const width = Math.max(type === 'text' || type === 'time' ? 20 : 12, name.length + 2);
      return `<col min="${i + 1}" max="${i + 1}" width="${width}" customWidth="1"/>`;
    })
    .join('');
  yield `${HEAD}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>${widths}</cols><sheetData><row r="1">${columns
    .map(({ name }, i) => textCell(`${letters[i]}1`, name, STYLE.header))
    .join('')}</row>`;
  let number = 1;
  for await (const group of groups) {
    let xml = '';
    for (const row of group) {
      number += 1;
      xml += `<row r="${number}">`;
      for (const [i, column] of columns.entries()) xml += cellOf(`${letters[i]}${number}`, column, row);
      xml += '</row>';
    }
    yield xml;
  }
  yield '</sheetData></worksheet>';
}

/** The letters of a column: A, B, ..., Z, AA. */
function lettersOf(index: number): string {
  const above = Math.floor(index / 26);
  return (above > 0 ? lettersOf(above - 1) : '') + String.fromCharCode(65 + (index % 26));
}

function cellOf(place: string, { name, type }: Column, row: Row): string {
  const value = row[name];
  if (value === undefined || value === null) return '';
  return CELLS[type](place, value);
}

const CELLS: Record<ColumnType, (place: string, value: unknown) => string> = {
  text: (place, value) => textCell(place, typeof value === 'string' ? value : stringifyJson(value)),
  integer: numberCell,
  number: numberCell,
  boolean: (place, value) => `<c r="${place}" t="b"><v>${value === true ? 1 : 0}</v></c>`,
  time: (place, value) => dayCell(place, value, STYLE.time),
  date: (place, value) => dayCell(place, value, STYLE.date),
};

/** Excel has numbers of 15 digits, so that a larger integer, such as an id, is a text. */
function numberCell(place: string, value: unknown): string {
  const number = Number(value);
  if (!Number.isFinite(number) || (Number.isInteger(number) && !Number.isSafeInteger(number)))
    return textCell(place, String(value));
  return `<c r="${place}"><v>${number}</v></c>`;
}

const DAY_MS = 86_400_000;

/** The day number of 1970-01-01 in Excel. */
const EPOCH_DAY = 25_569;

function dayCell(place: string, value: unknown, style: number): string {
  const time = timeOf(value);
  if (!time) return '';
  // Rounded up by less than a tenth of a millisecond, because readers round down.
  const day = Math.ceil((time.getTime() / DAY_MS + EPOCH_DAY) * 1e9) / 1e9;
  return `<c r="${place}" s="${style}"><v>${day}</v></c>`;
}

function textCell(place: string, text: string, style: number = 0): string {
  const shown = text.length > LONGEST_TEXT ? text.slice(0, LONGEST_TEXT) : text;
  return `<c r="${place}" s="${style}" t="inlineStr"><is><t xml:space="preserve">${escaped(shown)}</t></is></c>`;
}

/** What XML has to escape, what it cannot contain, and what Excel reads as the code of a character. */
const SPECIAL = /[&<>]|(?![\t\n\r])[\p{Cc}\p{Noncharacter_Code_Point}]|_(?=x[0-9A-Fa-f]{4}_)/gu;

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', _: '_x005F_' };

function escaped(text: string): string {
  return text.toWellFormed().replace(SPECIAL, (character) => ESCAPES[character] ?? '');
}

/** The other files of a workbook. */
function partsOf(sheets: readonly string[]): readonly (readonly [path: string, xml: string])[] {
  const each = (xml: (number: number, name: string) => string) =>
    sheets.map((name, i) => xml(i + 1, name)).join('');
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`;
  const type = (path: string, name: string) =>
    `<Override PartName="${path}" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.${name}+xml"/>`;
  return [
    [
      'xl/workbook.xml',
      `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets>${each(
        (number, name) => `<sheet name="${escaped(name)}" sheetId="${number}" r:id="rId${number}"/>`,
      )}</sheets></workbook>`,
    ],
    ['xl/styles.xml', STYLES],
    [
      'xl/_rels/workbook.xml.rels',
      `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">${each((number) =>
        relation(`rId${number}`, 'worksheet', `worksheets/sheet${number}.xml`),
      )}${relation(`rId${sheets.length + 1}`, 'styles', 'styles.xml')}</Relationships>`,
    ],
    [
      '_rels/.rels',
      `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">${relation('rId1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    ],
    [
      '[Content_Types].xml',
      `${HEAD}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${type('/xl/workbook.xml', 'sheet.main')}${type('/xl/styles.xml', 'styles')}${each(
        (number) => type(`/xl/worksheets/sheet${number}.xml`, 'worksheet'),
      )}</Types>`,
    ],
  ];
}
