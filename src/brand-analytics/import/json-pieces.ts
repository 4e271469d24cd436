import type { Readable } from 'node:stream';
import type { JsonFrame } from './json-frame.ts';
import { ReportError } from './report-error.ts';

/** Entries that follow each other, as a JSON array in bytes that nobody else holds. */
export interface JsonPiece {
  bytes: Uint8Array<ArrayBuffer>;
  /** The number of its first entry in the list, from 1. */
  entry: number;
}

/** A piece ends behind the first term that makes it as large. */
const PIECE_BYTES = 262_144;

/** Nothing has so many entries about one term; it is cut all the same. */
const LONGEST_PIECE = 16 * PIECE_BYTES;

/** No entry is longer; where quotes or brackets do not pair up, one would reach to the end of the file. */
const LONGEST_ENTRY = 1_048_576;

const QUOTE = 0x22;
const COMMA = 0x2c;
const LEFT_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const RIGHT_BRACKET = 0x5d;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;

/**
 * Cuts the list of entries between terms, and gives the frame what is around it. Only quotes and brackets are looked at:
 * whether all of it is JSON is found by those who parse frame and pieces.
 * @throws ReportError when it is not, or breaks off.
 */
export async function* jsonPieces(file: Readable, frame: JsonFrame): AsyncGenerator<JsonPiece> {
  let list: EntryList | undefined;
  let isInside = false;
  const broken = (reason: string) => new ReportError(`After entry ${list?.entries ?? 0}: ${reason}.`);

  /** Gives the frame what is before the next list, and returns how many bytes that were. */
  function writeFrame(bytes: Buffer): number {
    const bracket = bytes.indexOf(LEFT_BRACKET);
    const length = bracket < 0 ? bytes.length : bracket + 1;
    try {
      frame.write(bytes.subarray(0, length));
    } catch (error) {
      throw error instanceof ReportError ? error : broken('this is not JSON');
    }
    if (frame.isListOpen) {
      if (list) throw broken('there is a second list of entries');
      list = new EntryList();
      isInside = true;
    }
    return length;
  }

  for await (const chunk of file as AsyncIterable<Buffer>) {
    let from = 0;
    while (from < chunk.length) {
      if (!list || !isInside) {
        from += writeFrame(chunk.subarray(from));
        continue;
      }
      list.add(chunk.subarray(from));
      yield* list.takePieces();
      isInside = list.left === undefined;
      from = chunk.length - (list.left ?? 0);
    }
  }
  // A download that was cut must not become a published week.
  if (!frame.isEnded) throw broken('the file breaks off');
}

/** The inside of the list, from its opening bracket on. */
class EntryList {
  /** What is not part of a piece yet. */
  #bytes: Buffer = Buffer.alloc(0);
  #scanned = 0;
  #depth = 0;
  #isQuoted = false;
  #isEscaped = false;
  #entryStart = 0;
  /** The number of the first entry in #bytes. */
  #firstEntry = 1;
  /** What the last entry is about, once the piece is large enough to end before the next that is about something else. */
  #lastTerm: string | undefined;
  /** Whole ones. */
  entries = 0;
  /** Once the closing bracket is found: how many bytes were added from it on. */
  left: number | undefined;

  add(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
  }

  *takePieces(): Generator<JsonPiece> {
    for (let end = this.#nextEnd(); end >= 0; end = this.#nextEnd()) {
      const isLast = this.#bytes[end] === RIGHT_BRACKET;
      const entry = this.#bytes.subarray(this.#entryStart, end);
      if (isLast && this.entries === 0 && isBlank(entry)) {
        this.left = this.#bytes.length - end;
        return;
      }
      this.#checkLength(entry.length);
      this.entries += 1;
      // No comma at the end of a piece may be lost where nothing follows it.
      if (this.#entryStart > 0 && end >= PIECE_BYTES && !isBlank(entry)) {
        const term = termOf(entry);
        if ((this.#lastTerm ?? term) !== term || end >= LONGEST_PIECE) {
          yield this.#cut(this.#entryStart - 1, this.entries);
          end = this.#scanned - 1;
        } else this.#lastTerm = term;
      }
      if (isLast) {
        yield this.#cut(end, this.entries + 1);
        this.left = this.#bytes.length;
        return;
      }
      this.#entryStart = this.#scanned;
    }
    this.#checkLength(this.#bytes.length - this.#entryStart);
  }

  #checkLength(bytes: number): void {
    if (bytes > LONGEST_ENTRY)
      throw new ReportError(`Entry ${this.entries + 1}: it has no end within a megabyte.`);
  }

  /** Everything up to a comma or the closing bracket, which is left out; a comma is dropped. */
  #cut(end: number, nextEntry: number): JsonPiece {
    const bytes = new Uint8Array(end + 2);
    bytes[0] = LEFT_BRACKET;
    bytes.set(this.#bytes.subarray(0, end), 1);
    bytes[end + 1] = RIGHT_BRACKET;
    const piece = { bytes, entry: this.#firstEntry };
    const dropped = this.#bytes[end] === COMMA ? end + 1 : end;
    this.#bytes = this.#bytes.subarray(dropped);
    this.#scanned -= dropped;
    this.#entryStart = 0;
    this.#firstEntry = nextEntry;
    this.#lastTerm = undefined;
    return piece;
  }

  /** Where the comma or bracket is that ends the next entry; -1 when it has not come yet. */
  #nextEnd(): number {
    // Every byte of a file comes by here, so everything is at hand.
    const bytes = this.#bytes;
    let depth = this.#depth;
    let isQuoted = this.#isQuoted;
    let isEscaped = this.#isEscaped;
    let end = -1;
    let at = this.#scanned;
    for (; at < bytes.length && end < 0; at += 1) {
      const byte = bytes[at];
      if (isQuoted) {
        if (isEscaped) isEscaped = false;
        else if (byte === QUOTE) isQuoted = false;
        else if (byte === BACKSLASH) isEscaped = true;
      } else if (byte === QUOTE) isQuoted = true;
      else if (depth === 0 && (byte === COMMA || byte === RIGHT_BRACKET)) end = at;
      else if (byte === LEFT_BRACE || byte === LEFT_BRACKET) depth += 1;
      else if (depth > 0 && (byte === RIGHT_BRACE || byte === RIGHT_BRACKET)) depth -= 1;
    }
    this.#scanned = at;
    this.#depth = depth;
    this.#isQuoted = isQuoted;
    this.#isEscaped = isEscaped;
    return end;
  }
}

const isBlank = (bytes: Buffer) => bytes.toString().trim() === '';

/** What an entry is about; '' when it is no entry at all, which whoever reads the piece will say. */
function termOf(bytes: Buffer): string {
  try {
    const { departmentName, searchTerm } = JSON.parse(bytes.toString()) as Record<string, unknown>;
    return JSON.stringify([departmentName, searchTerm]);
  } catch {
    return '';
  }
}
