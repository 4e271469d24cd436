/** A run of digits that a number may not hold exactly. */
const MAYBE_LARGE = /[:,[\s]-?\d{16}/;

/** Strings and numbers of a JSON text. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;

/** The third argument of a reviver, in runtimes that have it. */
interface Context {
  source?: string;
}

type Parse = (text: string, reviver: (key: string, value: unknown, context?: Context) => unknown) => unknown;

const parse = JSON.parse as Parse;

const HAS_SOURCE = (() => {
  let found = false;
  parse('1', (_, value, context) => {
    found = context?.source === '1';
    return value;
  });
  return found;
})();

/** Parses JSON. Integers beyond 2^53 become bigints. @throws SyntaxError */
export function parseJson(text: string): unknown {
  if (!MAYBE_LARGE.test(text)) return JSON.parse(text);
  return HAS_SOURCE ? parseWithSource(text) : parseWithMarks(text);
}

/** Writes JSON. Bigints become texts of digits, which the service accepts as integers. */
export function stringifyJson(value: unknown): string {
  return JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? String(inner) : inner));
}

function parseWithSource(text: string): unknown {
  return parse(text, (_, value, context) =>
    typeof value === 'number' && isLarge(context?.source ?? '') ? BigInt(context?.source ?? '') : value,
  );
}

/** For runtimes whose revivers do not get the source: replaces large integers by marked strings. */
export function parseWithMarks(text: string): unknown {
  const mark = `bigint-${Math.random().toString(36)}-`;
  const marked = text.replace(TOKENS, (token) => (isLarge(token) ? `"${mark}${token}"` : token));
  return parse(marked, (_, value) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}

function isLarge(token: string): boolean {
  return /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));
}
