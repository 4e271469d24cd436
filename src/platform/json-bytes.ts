import { parsing } from './exact-json.ts';
import { stringifyJson } from './json.ts';
import { isTurnOver, nextTurn } from './turn.ts';

/** Values of a list are written together up to about this size. */
const PIECE_CHARACTERS = 65_536;

/** Parses bytes like `parseJson`. While it parses a large text, other work has its turns. @throws SyntaxError */
export function parseJsonBytes(bytes: Buffer): Promise<unknown> {
  return inTurns(parsing(bytes));
}

/** Runs a task that yields after each piece of its work. Other work has its turns meanwhile. @returns what it returns. */
export async function inTurns<Result>(task: Generator<void, Result>): Promise<Result> {
  for (;;) {
    if (isTurnOver()) await nextTurn();
    const { done, value } = task.next();
    if (done) return value;
  }
}

/**
 * Writes like `stringifyJson`, as bytes. While it writes a large value, other work has its turns.
 * @param end follows the value.
 */
export async function stringifyJsonBytes(value: unknown, end = ''): Promise<Buffer> {
  const written = new Written();
  if (isTurnOver()) await nextTurn();
  for (const piece of pieces(value, 0)) {
    written.add(piece);
    if (isTurnOver()) await nextTurn();
  }
  written.add(end);
  return written.bytes();
}

/** Shorter texts are joined before they are written. */
const SHORT_CHARACTERS = 4_096;

/** A text in parts, as UTF-8. Joining long parts as text would copy them twice. */
class Written {
  readonly #chunks: Buffer[] = [];
  #short = '';

  add(text: string): void {
    if (text.length < SHORT_CHARACTERS) this.#short += text;
    else {
      this.#flush();
      this.#chunks.push(bytesOf(text));
    }
    if (this.#short.length >= PIECE_CHARACTERS) this.#flush();
  }

  bytes(): Buffer {
    this.#flush();
    return Buffer.concat(this.#chunks);
  }

  #flush(): void {
    if (this.#short !== '') this.#chunks.push(bytesOf(this.#short));
    this.#short = '';
  }
}

/** The most bytes of a UTF-16 unit in UTF-8. */
const MOST_BYTES_A_UNIT = 3;

/** Texts are first written here, because finding out how many bytes a text has takes as long as writing it. */
const scratch = Buffer.allocUnsafeSlow(MOST_BYTES_A_UNIT * 524_288);

function bytesOf(text: string): Buffer {
  if (MOST_BYTES_A_UNIT * text.length > scratch.length) return Buffer.from(text);
  return Buffer.from(scratch.subarray(0, scratch.write(text)));
}

/** Below this level, values are written in one piece. */
const DIVIDED_LEVELS = 2;

/** Writes the fields of objects and the values of lists one after the other. */
function* pieces(value: unknown, level: number): Generator<string> {
  if (level === DIVIDED_LEVELS || typeof value !== 'object' || value === null || 'toJSON' in value)
    yield stringifyJson(value);
  else if (Array.isArray(value)) yield* listPieces(value);
  else {
    let separator = '{';
    for (const [name, field] of Object.entries(value)) {
      if (field === undefined) continue;
      yield `${separator}${JSON.stringify(name)}:`;
      yield* pieces(field, level + 1);
      separator = ',';
    }
    yield separator === '{' ? '{}' : '}';
  }
}

/** Writes as many values together as fit into a piece, judging by the piece before. */
function* listPieces(list: readonly unknown[]): Generator<string> {
  let together = 1;
  for (let at = 0; at < list.length; ) {
    yield at === 0 ? '[' : ',';
    if (isLong(list[at])) {
      yield* pieces(list[at], DIVIDED_LEVELS - 1);
      at += 1;
      continue;
    }
    const values = list.slice(at, at + together);
    const text = stringifyJson(values);
    yield text.slice(1, -1);
    at += values.length;
    const fitting = Math.ceil((values.length * PIECE_CHARACTERS) / text.length);
    together = Math.min(fitting, 4 * values.length);
  }
  yield list.length === 0 ? '[]' : ']';
}

/** The fewest values in the lists of a long object. */
const LONG_VALUES = 4_096;

/**
 * Returns whether an object has long lists, such as the histories of a product. Its fields are written one by one: one letter
 * beyond Latin 1 doubles the size of a whole text.
 */
function isLong(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  let values = 0;
  for (const field of Object.values(value)) {
    if (!Array.isArray(field)) continue;
    values += field.length;
    if (Array.isArray(field[0] ?? field[1]))
      for (const inner of field as unknown[]) values += Array.isArray(inner) ? inner.length : 0;
    if (values >= LONG_VALUES) return true;
  }
  return false;
}
