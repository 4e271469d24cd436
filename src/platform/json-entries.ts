// Finds the entries of a list or an object in a JSON text without parsing them, so that a part of a large answer can be
// read. The text must be valid: written, or parsed before, by this service.

/** An entry of a list or an object: the bytes from `start` to `end`. */
export interface Entry {
  /** The position in a list, or the name of a field. */
  name: string;
  start: number;
  end: number;
}

/** How many bytes are read before other work may run. */
const PIECE_BYTES = 65_536;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

export type ValueKind = 'list' | 'object' | 'other';

/** Returns the kind of the value that starts at a position. */
export function kindAt(bytes: Buffer, at: number): ValueKind {
  const first = bytes[at];
  return first === OPEN_LIST ? 'list' : first === OPEN_OBJECT ? 'object' : 'other';
}

/** Yields each entry of the list or object that starts at a position, and null after each piece that was read. */
export function* entriesAt(bytes: Buffer, at: number): Generator<Entry | null, void> {
  const kind = kindAt(bytes, at);
  if (kind === 'other') return;
  let position = afterSpace(bytes, at + 1);
  let pieceEnd = at + PIECE_BYTES;
  for (let index = 0; !isClosing(bytes[position]) && position < bytes.length; index += 1) {
    let name = String(index);
    if (kind === 'object') {
      const nameEnd = afterText(bytes, position);
      name = JSON.parse(bytes.toString('utf8', position, nameEnd)) as string;
      // The colon stands between them.
      position = afterSpace(bytes, afterSpace(bytes, nameEnd) + 1);
    }
    const end = yield* afterValue(bytes, position);
    yield { name, start: position, end };
    if (end >= pieceEnd) {
      yield null;
      pieceEnd = end + PIECE_BYTES;
    }
    position = afterSpace(bytes, end);
    if (bytes[position] === COMMA) position = afterSpace(bytes, position + 1);
  }
}

/** Returns the position after the value that starts at a position. */
function* afterValue(bytes: Buffer, at: number): Generator<null, number> {
  let depth = 0;
  let pieceEnd = at + PIECE_BYTES;
  for (let i = at; i < bytes.length; ) {
    const byte = bytes[i];
    if (depth === 0 && i > at && (byte === COMMA || isClosing(byte) || isSpace(byte))) return i;
    if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth += 1;
    if (isClosing(byte)) depth -= 1;
    i = byte === QUOTE ? afterText(bytes, i) : i + 1;
    if (depth === 0 && (byte === QUOTE || isClosing(byte))) return i;
    if (i >= pieceEnd) {
      yield null;
      pieceEnd = i + PIECE_BYTES;
    }
  }
  return bytes.length;
}

/** Returns the position after the text whose opening quote is at a position. */
function afterText(bytes: Buffer, at: number): number {
  for (let i = bytes.indexOf(QUOTE, at + 1); i !== -1; i = bytes.indexOf(QUOTE, i + 1)) {
    let first = i;
    while (bytes[first - 1] === BACKSLASH) first -= 1;
    // After an odd number of backslashes the quote belongs to the text.
    if ((i - first) % 2 === 0) return i + 1;
  }
  return bytes.length;
}

function afterSpace(bytes: Buffer, at: number): number {
  let i = at;
  while (isSpace(bytes[i])) i += 1;
  return i;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isClosing(byte: number | undefined): boolean {
  return byte === CLOSE_LIST || byte === CLOSE_OBJECT;
}
