import { isUtf8 } from 'node:buffer';
import { inflateRawSync } from 'node:zlib';
import Papa from 'papaparse';
import { readSheet } from 'read-excel-file/node';

/** The most rows that a file may have, with its heading. */
const MOST_ROWS = 100_001;
const MOST_COLUMNS = 200;
/** All parts of an XLSX file together, decompressed. */
const MOST_BYTES = 64 * 2 ** 20;
const MOST_PARTS = 500;

/** A file that cannot be read; its message is for the page. */
export class Unreadable extends Error {}

/** Returns the rows of a CSV, TSV, text or XLSX file as texts. @throws Unreadable */
export async function rowsOfFile(bytes: Uint8Array): Promise<string[][]> {
  // The bytes tell the kind, not the name: programs name files as they like.
  const isZip = bytes[0] === 0x50 && bytes[1] === 0x4b;
  const rows = isZip ? await rowsOfSheet(Buffer.from(bytes)) : rowsOfText(textOf(bytes));
  if (rows.length > MOST_ROWS) throw new Unreadable(`has more than ${MOST_ROWS - 1} rows`);
  return rows.map((row) => row.slice(0, MOST_COLUMNS));
}

function textOf(bytes: Uint8Array): string {
  // Excel saves "Unicode text" as UTF-16 with a mark, and "CSV" in the code page of Windows.
  const plain = isUtf8(bytes) ? 'utf-8' : 'windows-1252';
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : plain;
  const text = new TextDecoder(encoding).decode(bytes);
  if (text.includes('\0')) throw new Unreadable('must be a CSV, text or XLSX file');
  return text;
}

/** At each quoted value the parser looks for the next end of a line, so the time of a line grows with the square of its length. */
const LONGEST_LINE = 65_536;

function rowsOfText(given: string): string[][] {
  const text = given.replace(/\r\n?/g, '\n');
  for (let start = 0, end = 0; end < text.length; start = end + 1) {
    const found = text.indexOf('\n', start);
    end = found === -1 ? text.length : found;
    if (end - start > LONGEST_LINE)
      throw new Unreadable(`has a line of more than ${LONGEST_LINE} characters`);
  }
  const { data } = Papa.parse<string[]>(text, {
    newline: '\n',
    skipEmptyLines: 'greedy',
    preview: MOST_ROWS + 1,
  });
  return data;
}

async function rowsOfSheet(bytes: Buffer): Promise<string[][]> {
  checkSizes(bytes);
  const cells = await readSheet(bytes).catch(() => {
    throw new Unreadable('is not an XLSX file that can be read; save it as CSV');
  });
  return cells.map((row) => row.map(textOfCell));
}

function textOfCell(cell: unknown): string {
  if (cell === null || cell === undefined) return '';
  return cell instanceof Date ? cell.toISOString() : String(cell as string | number | boolean);
}

/**
 * Refuses an archive whose parts are too large. Their sizes are found by decompressing them to a limit, because the sizes that an
 * archive states may be wrong. The offsets are those of the ZIP format.
 */
function checkSizes(bytes: Buffer): void {
  const end = bytes.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (end === -1 || end + 20 > bytes.length) throw new Unreadable('is not a complete XLSX file');
  const parts = bytes.readUInt16LE(end + 10);
  if (parts > MOST_PARTS) throw new Unreadable(`has more than ${MOST_PARTS} parts`);
  let left = MOST_BYTES;
  let entry = bytes.readUInt32LE(end + 16);
  try {
    for (let i = 0; i < parts; i += 1) {
      const [compressed, start] = [bytes.readUInt32LE(entry + 20), bytes.readUInt32LE(entry + 42)];
      const data = start + 30 + bytes.readUInt16LE(start + 26) + bytes.readUInt16LE(start + 28);
      const isStored = bytes.readUInt16LE(entry + 10) === 0;
      const part = bytes.subarray(data, data + compressed);
      left -= isStored ? part.length : inflateRawSync(part, { maxOutputLength: left }).length;
      entry +=
        46 + bytes.readUInt16LE(entry + 28) + bytes.readUInt16LE(entry + 30) + bytes.readUInt16LE(entry + 32);
      if (left <= 0) throw new RangeError('too large');
    }
  } catch {
    throw new Unreadable(`is damaged, or has more than ${MOST_BYTES / 2 ** 20} MiB when decompressed`);
  }
}
