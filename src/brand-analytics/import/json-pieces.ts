import type { Readable } from 'node:stream';
import type { JsonFrame } from './json-frame.ts';
import { ReportError } from './report-error.ts';

/** Consecutive entries, as a JSON array in a buffer of its own. */
export interface JsonPiece {
  bytes: Uint8Array<ArrayBuffer>;
  /** The number of its first entry in the list, from 1. */
  entry: number;
}

/** A piece ends with the first term that makes it this large. */
const PIECE_BYTES = 262_144;

/** A larger piece is cut even within the entries of a term. */
const LONGEST_PIECE = 16 * PIECE_BYTES;

/**
 * The limit of an entry. Without it, an entry with an unpaired quote or bracket would extend to the end of the
 * file.
 */
const LONGEST_ENTRY = 1_048_576;

const QUOTE = 0x22;
const COMMA = 0x2c;
const LEFT_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const RIGHT_BRACKET = 0x5d;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;

/**
 * Cuts the list of entries between terms, and passes the rest of the document to the frame. It reads only quotes
 * and brackets; the frame and the readers of the pieces check that everything is JSON.
 * @throws ReportError if the document is not JSON or is incomplete.
 */
export async function* jsonPieces(file: Readable, frame: JsonFrame): AsyncGenerator<JsonPiece> {
  let list: EntryList | undefined;
  let isInside = false;
  const broken = (reason: string) => new ReportError(`After entry ${list?.entries ?? 0}: ${reason}.`);

  /** Passes the bytes before the next list to the frame, and returns their number. */
  function writeFrame(bytes: Buffer): number {
    const bracket = bytes.indexOf(LEFT_BRACKET);
    const length = bracket < 0 ? bytes.length : bracket + 1;
    try {
      frame.write(bytes.subarray(0, length));
    } catch (error) {
      throw error instanceof ReportError ? error : broken('the document is not JSON');
    }
    if (frame.isListOpen) {
      if (list) throw broken('the document has a second list of entries');
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
  // A partial download must not become a published week.
  if (!frame.isEnded) throw broken('the file is incomplete');
}

/** The content of the list, from its opening bracket. */
class EntryList {
  /** Bytes that are not part of a piece yet. */
  #bytes: Buffer = Buffer.alloc(0);
  #scanned = 0;
  #depth = 0;
  #isQuoted = false;
  #isEscaped = false;
  #entryStart = 0;
  /** The number of the first entry in #bytes. */
  #firstEntry = 1;
  /** The term of the last entry, once the piece is large enough to end before the next term. */
  #lastTerm: string | undefined;
  /** Number of complete entries. */
  entries = 0;
  /** Set when the closing bracket is found: the number of bytes after it. */
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
      // A comma that no entry follows must stay, so that it is reported as an error.
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
    if (bytes > LONGEST_ENTRY) throw new ReportError(`Entry ${this.entries + 1}: longer than 1 MiB.`);
  }

  /** Cuts off everything up to a comma or the closing bracket, without that character. */
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

  /** Returns the position of the comma or bracket that ends the next entry; -1 if it has not arrived yet. */
  #nextEnd(): number {
    // Local variables, because this loop reads every byte of a file.
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

/** Returns the term of an entry; '' if the entry is invalid, which the reader of the piece reports. */
function termOf(bytes: Buffer): string {
  try {
    const { departmentName, searchTerm } = JSON.parse(bytes.toString()) as Record<string, unknown>;
    return JSON.stringify([departmentName, searchTerm]);
  } catch {
    return '';
  }
}
