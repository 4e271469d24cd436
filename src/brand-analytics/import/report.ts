import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import type { BinaryRows } from './copy.ts';

/** A report that cannot be imported. The message is a sentence with the position in the file and the reason. */
export class ReportError extends Error {}

/** @param line of the file, from 1. */
export function badLine(line: number, reason: string): ReportError {
  return new ReportError(`Line ${line}: ${reason}.`);
}

/** Printable ASCII: a quick test that nearly all names pass. */
const PLAIN = /^[ -~]*$/;

/**
 * Line ends, tabs and other control characters, and lone surrogates. Names need none of them, and PostgreSQL
 * rejects some.
 */
const CONTROLS = /[\p{Cc}\p{Cs}]+/gu;

export function withoutControls(text: string): string {
  if (PLAIN.test(text)) return text;
  const plain = text.replace(CONTROLS, ' ');
  return plain === text ? text : plain.trim();
}

/** Thrown where a file is not UTF-8. Replacing invalid bytes would change a term into another one. */
export class NotUtf8 extends Error {}

/** Returns the bytes of a file in pieces of whole characters. @throws NotUtf8 after the last valid piece. */
export async function* utf8Pieces(file: Readable): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of file as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = bytes.length - unfinishedBytes(bytes);
    yield* valid(bytes.subarray(0, end));
    rest = bytes.subarray(end);
  }
  yield* valid(rest);
}

function* valid(bytes: Buffer): Generator<Buffer> {
  if (isUtf8(bytes)) {
    if (bytes.length > 0) yield bytes;
    return;
  }
  // The longest valid beginning: the faults of the rows before the invalid text are reported first.
  let length = 0;
  for (let step = bytes.length; step > 0; ) {
    if (isUtf8(bytes.subarray(length, length + step))) length += step;
    else step >>= 1;
  }
  yield bytes.subarray(0, length);
  throw new NotUtf8();
}

/** Returns the number of bytes at the end that begin a character whose other bytes have not arrived. */
function unfinishedBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return lengthOf(byte) > back ? back : 0;
  }
  return 0;
}

/** Returns the number of bytes of a character by its first byte. */
function lengthOf(lead: number): number {
  if (lead >= 0xf0) return 4;
  return lead >= 0xe0 ? 3 : 2;
}

/** Products recur in a report. Of those that share a slot here, the last one is remembered. */
const REMEMBERED = 2 ** 19;

/** Writes titles for COPY, without those of products that occurred recently. */
export function createTitles() {
  const asins = new Float64Array(REMEMBERED);
  return {
    write(rows: readonly ReportRow[], lines: BinaryRows): void {
      for (const { products } of rows) {
        for (const product of products) {
          if (!product || product.title === '') continue;
          const { asin, title } = product;
          // Products with similar numbers are unrelated, so remainders spread them well enough.
          const place = asin % REMEMBERED;
          if (asins[place] === asin) continue;
          asins[place] = asin;
          lines.begin(2);
          lines.int8(asin);
          lines.text(withoutControls(title));
        }
      }
    },
  };
}

/** A product that was clicked after a search. */
export interface ReportProduct {
  /** In the form that asinToNumber returns. */
  asin: number;
  /** '' if the report has none. */
  title: string;
  /** Hundredths of a percent; -1 is blank. */
  click: number;
  conversion: number;
}

/** A search term of a report, independent of the file's format. */
export interface ReportRow {
  /** Position in the file: a line of a CSV, an entry of a JSON document. */
  at: number;
  /** A week contains one ranking, so rows of other departments are left out. */
  department: string;
  rank: number;
  term: string;
  /** Up to three, by place. A place without a product is undefined. */
  products: (ReportProduct | undefined)[];
  /** Three each; '' if blank. Reports of the API have none. */
  brands: readonly string[];
  categories: readonly string[];
}

/** Consecutive rows of a file. */
export type ReportBatch = ReportRow[];

/** A report that is being read. */
export interface Report {
  source: 'api' | 'csv';
  /** In the order of the file, with some hundred rows each. @throws ReportError after the rows before the fault. */
  batches: AsyncIterable<ReportBatch>;
  /** Facts in the file; complete only after all batches have been read. */
  facts(): { week: string | null; marketplaceIds: readonly string[] };
}

/**
 * Reads a share in percent, with at most two decimals, as hundredths. Returns -1 if it is blank, null if it is not
 * a share.
 */
export function shareOf(text: string): number | null {
  if (text === '') return -1;
  // Most shares look like 12.34, and each row of a week has six, so these are read digit by digit.
  let digits = 0;
  let decimals = -1;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code >= DIGIT_0 && code <= DIGIT_0 + 9) {
      digits = digits * 10 + code - DIGIT_0;
      if (decimals >= 0) decimals += 1;
    } else if (code === POINT && i > 0 && decimals < 0) decimals = 0;
    else return unusualShareOf(text);
  }
  if (decimals === 0 || decimals > 2 || text.length > LONGEST_USUAL) return unusualShareOf(text);
  const hundredths = decimals === 2 ? digits : decimals === 1 ? digits * 10 : digits * 100;
  return hundredths <= 10_000 ? hundredths : null;
}

const DIGIT_0 = 48;
const POINT = 46;
const LONGEST_USUAL = '100.00'.length;

function unusualShareOf(text: string): number | null {
  if (!PERCENT.test(text)) return null;
  const hundredths = Math.round(Number(text.replace(',', '.').replace('%', '')) * 100);
  return hundredths <= 10_000 ? hundredths : null;
}

const PERCENT = /^\d{1,3}(?:[.,]\d+)?\s?%?$/;
