/**
 * Parses JSON and keeps integers beyond 2^53 as bigint. Only the containers around such an integer are taken apart; all
 * other values go to the native parser, in pieces between which a caller may pause.
 */

/** A text up to this size is parsed without pauses. */
const SHORT_BYTES = 524_288;

/** Consecutive values of a longer text are parsed together up to this size. */
const PIECE_BYTES = 131_072;

/** A pause is offered after this many bytes without a value to parse. */
const SCANNED_BYTES = 524_288;

/** The most containers around a large integer, so that the time stays linear. */
const MOST_LEVELS = 64;

/** The fewest digits of an integer beyond 2^53. */
const LARGE_DIGITS = 16;

/** Longest integer that is parsed: converting digits takes more than linear time. */
const LONGEST_INTEGER_DIGITS = 1_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const [LEFT_BRACKET, RIGHT_BRACKET, LEFT_BRACE, RIGHT_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Part of a text: from a position up to another one, without it. */
interface Range {
  start: number;
  end: number;
}

/**
 * Parses the bytes of a JSON text. The generator yields after each piece and returns the value.
 * @throws SyntaxError
 */
export function* parsing(bytes: Buffer): Generator<void, unknown> {
  const large = largeIntegers(bytes);
  if (large.length === 0 && bytes.length <= SHORT_BYTES) return JSON.parse(bytes.toString());
  return yield* new Parsing(bytes, large).value({ start: 0, end: bytes.length }, 0);
}

/**
 * Returns the positions of digits that may be an integer beyond 2^53, in order. A position may be inside a string. Reads
 * every sixteenth byte, which finds all runs of sixteen digits.
 */
export function largeIntegers(bytes: Buffer): number[] {
  const found: number[] = [];
  for (let i = LARGE_DIGITS - 1; i < bytes.length; i += LARGE_DIGITS) {
    if (!isDigit(bytes[i])) continue;
    let start = i;
    while (isDigit(bytes[start - 1])) start -= 1;
    let end = i + 1;
    while (isDigit(bytes[end])) end += 1;
    if (end - start >= LARGE_DIGITS && isInteger(bytes, start, end)) found.push(start);
    // The next byte to read is the first one in the grid behind the run.
    i += LARGE_DIGITS * Math.floor((end - i) / LARGE_DIGITS);
  }
  return found;
}

/** Returns whether a run of digits, outside a string, is an integer that a number cannot represent. */
function isInteger(bytes: Buffer, start: number, end: number): boolean {
  const before = bytes[start - 1] === 0x2d ? bytes[start - 2] : bytes[start - 1];
  const mayStart =
    before === undefined ||
    before === COLON ||
    before === COMMA ||
    before === LEFT_BRACKET ||
    isSpace(before);
  const isFraction = bytes[end] === 0x2e || bytes[end] === 0x65 || bytes[end] === 0x45;
  return (
    mayStart &&
    !isFraction &&
    !(end - start < 20 && Number.isSafeInteger(Number(bytes.toString('latin1', start, end))))
  );
}

class Parsing {
  readonly #bytes: Buffer;
  readonly #large: readonly number[];
  readonly #pieceBytes: number;
  /** The number of large integers that were passed. */
  #passed = 0;

  constructor(bytes: Buffer, large: readonly number[]) {
    this.#bytes = bytes;
    this.#large = large;
    this.#pieceBytes = bytes.length <= SHORT_BYTES ? SHORT_BYTES : PIECE_BYTES;
  }

  *value(untrimmed: Range, level: number): Generator<void, unknown> {
    const range = this.#trimmed(untrimmed);
    const [first, last] = [this.#bytes[range.start], this.#bytes[range.end - 1]];
    const isPlain = !this.#hasLarge(range) && range.end - range.start <= this.#pieceBytes;
    if (!isPlain && level > MOST_LEVELS) throw new SyntaxError(`Nested more than ${MOST_LEVELS} levels deep`);
    if (!isPlain && first === LEFT_BRACKET && last === RIGHT_BRACKET) return yield* this.#list(range, level);
    if (!isPlain && first === LEFT_BRACE && last === RIGHT_BRACE) return yield* this.#object(range, level);
    yield;
    return this.#scalar(range);
  }

  /** Parses a value natively, unless it is an integer. */
  #scalar({ start, end }: Range): unknown {
    const text = this.#bytes.toString('utf8', start, end);
    if (text.length < LARGE_DIGITS || !/^-?\d+$/.test(text) || Number.isSafeInteger(Number(text)))
      return JSON.parse(text);
    if (text.length > LONGEST_INTEGER_DIGITS)
      throw new SyntaxError(`A number has more than ${LONGEST_INTEGER_DIGITS} digits`);
    JSON.parse(text);
    return BigInt(text);
  }

  *#list(range: Range, level: number): Generator<void, unknown[]> {
    const list: unknown[] = [];
    for (const part of this.#parts(range)) {
      if (!part) yield;
      else if (part.isPlain) {
        for (const value of JSON.parse(`[${this.#text(part)}]`) as unknown[]) list.push(value);
        yield;
      } else list.push(yield* this.value(part, level + 1));
    }
    return list;
  }

  *#object(range: Range, level: number): Generator<void, Record<string, unknown>> {
    const object: Record<string, unknown> = {};
    for (const part of this.#parts(range)) {
      if (!part) yield;
      else if (part.isPlain) {
        const fields = JSON.parse(`{${this.#text(part)}}`) as Record<string, unknown>;
        for (const name of Object.keys(fields)) setField(object, name, fields[name]);
        yield;
      } else {
        const { name, value } = this.#field(part);
        setField(object, name, yield* this.value(value, level + 1));
      }
    }
    return object;
  }

  /** Divides a field into its name and its value. */
  #field(untrimmed: Range): { name: string; value: Range } {
    const { start, end } = this.#trimmed(untrimmed);
    const nameEnd = this.#bytes[start] === QUOTE ? endOfString(this.#bytes, start) + 1 : start;
    const name: unknown = JSON.parse(this.#bytes.toString('utf8', start, nameEnd));
    const { start: colon } = this.#trimmed({ start: nameEnd, end });
    if (typeof name !== 'string' || this.#bytes[colon] !== COLON)
      throw new SyntaxError('A field has no name');
    return { name, value: { start: colon + 1, end } };
  }

  /**
   * Divides a list or object at its commas: into values with large integers or of more than a piece, and sequences of
   * other values. Null is a pause.
   */
  *#parts(container: Range): Generator<(Range & { isPlain: boolean }) | null> {
    const end = container.end - 1;
    const inner = this.#trimmed({ start: container.start + 1, end });
    if (inner.start === inner.end) return;
    const cursor = { at: inner.start, depth: 0 };
    let plain = null as Range | null;
    for (let start = inner.start; start <= end; ) {
      if (!toComma(this.#bytes, cursor, Math.min(end, cursor.at + SCANNED_BYTES)) && cursor.at < end) {
        yield null;
        continue;
      }
      const part: Range = { start, end: Math.min(cursor.at, end) };
      if (this.#hasLarge(part) || part.end - part.start > this.#pieceBytes) {
        if (plain) yield { ...plain, isPlain: true };
        plain = null;
        yield { ...part, isPlain: false };
      } else {
        plain = { start: plain?.start ?? start, end: part.end };
        if (plain.end - plain.start > this.#pieceBytes) {
          yield { ...plain, isPlain: true };
          plain = null;
        }
      }
      start = part.end + 1;
      cursor.at = start;
    }
    if (plain) yield { ...plain, isPlain: true };
  }

  /** @throws SyntaxError for nothing, which in place of a value is not JSON. */
  #text(range: Range): string {
    const text = this.#bytes.toString('utf8', range.start, range.end);
    if (text.trim() === '') throw new SyntaxError('A value is missing');
    return text;
  }

  /** Returns whether a large integer may be in the range. Ranges are asked for in their order. */
  #hasLarge({ start, end }: Range): boolean {
    while ((this.#large[this.#passed] ?? Number.POSITIVE_INFINITY) < start) this.#passed += 1;
    return (this.#large[this.#passed] ?? Number.POSITIVE_INFINITY) < end;
  }

  #trimmed({ start, end }: Range): Range {
    let [from, to] = [start, end];
    while (from < to && isSpace(this.#bytes[from])) from += 1;
    while (to > from && isSpace(this.#bytes[to - 1])) to -= 1;
    return { start: from, end: to };
  }
}

/**
 * Moves the cursor to the next comma outside strings and nested containers, or at least to `limit`. @returns whether there
 * is a comma before `limit`.
 */
function toComma(bytes: Buffer, cursor: { at: number; depth: number }, limit: number): boolean {
  let { at, depth } = cursor;
  for (; at < limit; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === LEFT_BRACE || byte === LEFT_BRACKET) depth += 1;
    else if (byte === RIGHT_BRACE || byte === RIGHT_BRACKET) depth -= 1;
    else if (byte === COMMA && depth === 0) break;
  }
  cursor.at = at;
  cursor.depth = depth;
  return at < limit;
}

/** Returns the position of the quotation mark that ends a string, or the last position of the text. */
function endOfString(bytes: Buffer, start: number): number {
  for (let at = start + 1; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return bytes.length - 1;
}

/** Assigning `__proto__` would set the prototype. */
function setField(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
