import type { Readable } from 'node:stream';
import { badLine } from './report-error.ts';

/** Complete records of a CSV, in a buffer of their own. */
export interface CsvPiece {
  bytes: Uint8Array<ArrayBuffer>;
  /** Line of the file, from 1, on which the first record starts. */
  line: number;
  /** Number of line ends, including those in quoted fields. */
  lineEnds: number;
}

/** The request of the report and the column names. They form a piece of their own. */
const HEAD_RECORDS = 2;

/** A piece ends with the first record that makes it this large. */
const PIECE_BYTES = 131_072;

/** The limit of a record. Without it, a record with an unpaired quote would extend to the end of the file. */
const LONGEST_RECORD = 1_048_576;

const QUOTE = 0x22;
const LINE_END = 0x0a;

interface Place {
  /** Bytes and line ends since the last cut. */
  length: number;
  lineEnds: number;
  /** Records since the start of the file. */
  records: number;
  isQuoted: boolean;
  /** The values of these counts at the start of the record that has not ended yet. */
  open: { length: number; lineEnds: number };
}

/** Cuts a CSV between records, which is after a line end with an even number of quotes before it. */
export async function* csvPieces(file: Readable): AsyncGenerator<CsvPiece> {
  let place: Place = {
    length: 0,
    lineEnds: 0,
    records: 0,
    isQuoted: false,
    open: { length: 0, lineEnds: 0 },
  };
  /** Bytes that are not part of a piece yet. */
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
      throw badLine(line + place.open.lineEnds, 'a quoted field is not closed');
  }
  if (place.length > 0) yield cut(Buffer.alloc(0));
}

/**
 * Moves the place to the line end that completes a piece, and returns its position in the chunk; -1 if the chunk
 * ends first.
 */
function scan(chunk: Buffer, from: number, place: Place): number {
  // Local variables, because this loop reads every byte of a file.
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
