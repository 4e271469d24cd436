import type { Readable } from 'node:stream';
import { badLine } from './report-error.ts';

/** Whole records of a CSV, as bytes that nobody else holds. */
export interface CsvPiece {
  bytes: Uint8Array<ArrayBuffer>;
  /** Of the file, from 1, on which its first record begins. */
  line: number;
  /** Ends of lines within it, those in quoted fields too. */
  lineEnds: number;
}

/** What asked for the report, and the names of its columns. They are a piece of their own. */
const HEAD_RECORDS = 2;

/** A piece ends with the first record that makes it as large. */
const PIECE_BYTES = 131_072;

/** No record is longer; where quotes do not pair up, one would reach to the end of the file. */
const LONGEST_RECORD = 1_048_576;

const QUOTE = 0x22;
const LINE_END = 0x0a;

interface Place {
  /** Bytes and ends of lines since the last cut. */
  length: number;
  lineEnds: number;
  /** Records since the file began. */
  records: number;
  isQuoted: boolean;
  /** The same since the last cut, when the record that has not ended yet began. */
  open: { length: number; lineEnds: number };
}

/** Cuts a CSV between records: behind a line end with an even number of quotes before it. */
export async function* csvPieces(file: Readable): AsyncGenerator<CsvPiece> {
  let place: Place = {
    length: 0,
    lineEnds: 0,
    records: 0,
    isQuoted: false,
    open: { length: 0, lineEnds: 0 },
  };
  /** What is not part of a piece yet. */
  let waiting: Buffer[] = [];
  let line = 1;

  function cut(last: Buffer): CsvPiece {
    const piece = { bytes: together([...waiting, last]), line, lineEnds: place.lineEnds };
    line += place.lineEnds + 1;
    waiting = [];
    place = { ...place, length: 0, lineEnds: 0, open: { length: 0, lineEnds: 0 } };
    return piece;
  }

  for await (const chunk of file as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = scan(chunk, from, place); end >= 0; end = scan(chunk, from, place)) {
      yield cut(chunk.subarray(from, end));
      from = end + 1;
    }
    waiting.push(chunk.subarray(from));
    if (place.length - place.open.length > LONGEST_RECORD)
      throw badLine(line + place.open.lineEnds, 'a quoted field has no end');
  }
  if (place.length > 0) yield cut(Buffer.alloc(0));
}

/** Moves the place on to the line end that makes a piece whole, and returns where in the chunk it is; -1: to the chunk's end. */
function scan(chunk: Buffer, from: number, place: Place): number {
  // Every byte of a file comes by here, so everything is at hand.
  let { lineEnds, records, isQuoted } = place;
  let { length: openLength, lineEnds: openLineEnds } = place.open;
  const wholeFrom = from + PIECE_BYTES - place.length;
  let end = -1;
  for (let at = from; at < chunk.length; at += 1) {
    const byte = chunk[at];
    if (byte === QUOTE) isQuoted = !isQuoted;
    else if (byte === LINE_END) {
      if (!isQuoted) {
        records += 1;
        if (records === HEAD_RECORDS || (at >= wholeFrom && records > HEAD_RECORDS)) {
          end = at;
          break;
        }
        openLength = place.length + at + 1 - from;
        openLineEnds = lineEnds + 1;
      }
      lineEnds += 1;
    }
  }
  place.length += (end < 0 ? chunk.length : end) - from;
  place.lineEnds = lineEnds;
  place.records = records;
  place.isQuoted = isQuoted;
  place.open = { length: openLength, lineEnds: openLineEnds };
  return end;
}

function together(parts: readonly Buffer[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
