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
  const chunks: Buffer[] = [];
  let waiting = '';
  if (isTurnOver()) await nextTurn();
  for (const piece of pieces(value, 0)) {
    waiting += piece;
    if (waiting.length >= PIECE_CHARACTERS) {
      chunks.push(Buffer.from(waiting));
      waiting = '';
    }
    if (isTurnOver()) await nextTurn();
  }
  if (chunks.length === 0) return Buffer.from(waiting + end);
  chunks.push(Buffer.from(waiting + end));
  return Buffer.concat(chunks);
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
    const values = list.slice(at, at + together);
    const text = stringifyJson(values);
    yield `${at === 0 ? '[' : ','}${text.slice(1, -1)}`;
    at += values.length;
    const fitting = Math.ceil((values.length * PIECE_CHARACTERS) / text.length);
    together = Math.min(fitting, 4 * values.length);
  }
  yield list.length === 0 ? '[]' : ']';
}
