import { z } from 'zod';
import { didYouMean } from '../faults.ts';
import type { JsonSchema } from './request.ts';

/** An integer of at most 64 bits: a number, or decimal digits if a number cannot represent it. */
export type ExactInteger = number | string;

const LARGEST = 2n ** 63n - 1n;

/** Reads an integer from a number, a bigint or digits without losing a digit. */
export function exactInteger(value: unknown): ExactInteger | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined;
  const isDigits = typeof value === 'string' && /^\s*[+-]?\d{1,19}\s*$/.test(value);
  if (!isDigits && typeof value !== 'bigint') return undefined;
  const integer = BigInt(value);
  if (integer > LARGEST || integer < -LARGEST) return undefined;
  const number = Number(integer);
  return Number.isSafeInteger(number) ? number : String(integer);
}

/** Returns the integer in a form that `stringifyJson` writes as a number. */
export function integerOf(value: ExactInteger): number | bigint {
  return typeof value === 'string' ? BigInt(value) : value;
}

/** The id of a category node, which may exceed 2^53. */
export function categoryId(): z.ZodType<ExactInteger> {
  const { error } = problem(
    `must be the id of a category, from 0 to ${LARGEST}, with ids beyond 2^53 as text or as JSON integers`,
  );
  return z
    .unknown()
    .transform((given, context): ExactInteger => {
      const id = exactInteger(given);
      if (id !== undefined && integerOf(id) >= 0) return id;
      context.issues.push({ code: 'custom', message: error({ input: given }), input: given });
      return z.NEVER;
    })
    .meta({ ...CATEGORY_ID });
}

const CATEGORY_ID: JsonSchema = {
  anyOf: [
    { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    { type: 'string', pattern: '^\\d{1,19}$', maxLength: 19 },
  ],
};

const LONGEST = 40;

/**
 * Shows a caller's value in an error text: `"abc"`, `5000`, `null`, `a list`. Long values are shortened, and control
 * characters are escaped. Not for values that may be secret, such as addresses of webhooks.
 */
export function shownValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = String(value as string | number | bigint | boolean | null | undefined);
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text;
  return typeof value === 'string' ? JSON.stringify(shown) : shown;
}

/** Adds the value to the text of a fault: `must be an integer, got "abc"`. */
export function got(problem: string, value: unknown): string {
  return `${problem}, got ${shownValue(value)}`;
}

/**
 * Text that PostgreSQL accepts: without control characters and unpaired surrogates. A body that is not UTF-8 contains
 * U+FFFD after decoding, and then the text is not what the caller meant, so U+FFFD is refused, too.
 */
export const PRINTABLE = /^[^\p{Cc}\p{Cs}\uFFFD]*$/u;

/**
 * Nearly the same rule for the documentation, in the syntax that all regular expression dialects share, with at least one
 * character that is not a space.
 */
export const VISIBLE =
  '^[^\\u0000-\\u001f\\u007f-\\u009f\\ufffd]*[^\\s\\u0000-\\u001f\\u007f-\\u009f\\ufffd][^\\u0000-\\u001f\\u007f-\\u009f\\ufffd]*$';

/** An integer, as a JSON number or in digits. The message states the allowed range. */
export function integer(bounds: { min?: number; max?: number } = {}) {
  const fault = problem(`must be an integer${range(bounds)}`);
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = bounds;
  // Aborts after the first fault: a number that is not a safe integer would also fail its bounds.
  const whole = z.int({ ...fault, abort: true });
  return z.preprocess(fromDigits, whole.min(min, fault).max(max, fault));
}

/** A number as JSON writes it. */
const NUMBER = /^\s*-?\d{1,20}(\.\d{1,40})?(e[+-]?\d{1,3})?\s*$/i;

/** An amount of money of at least 0, as a JSON number or in digits. */
export function money(max: number) {
  const fault = problem(`must be an amount from 0 to ${max}`);
  const decimal = (value: unknown) =>
    typeof value === 'string' && NUMBER.test(value) ? Number(value) : value;
  return z.preprocess(decimal, z.number(fault).min(0, fault).max(max, fault));
}

/** 0/1 or true/false. */
export function boolean() {
  return z.preprocess(fromSwitch, z.boolean(problem('must be 0, 1, true or false')));
}

/** One of the given words. */
export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.preprocess(trimmed, z.enum(words, wordProblem(words)));
}

/** Returns the error function of the schema of a word, which names the nearest right one. */
export function wordProblem(words: readonly string[]) {
  const { error } = problem(`must be one of ${words.join(', ')}`);
  return {
    error: (issue: { input?: unknown }) =>
      `${error(issue)}${typeof issue.input === 'string' ? didYouMean(issue.input, words) : ''}`,
  };
}

/** One of the given numbers. */
export function oneOfNumbers<const Numbers extends readonly [number, ...number[]]>(numbers: Numbers) {
  return z.preprocess(
    fromDigits,
    z.literal([...numbers] as Numbers[number][], problem(`must be one of ${numbers.join(', ')}`)),
  );
}

/**
 * A text of at least one character, without control characters and unpaired surrogates, which PostgreSQL rejects. Faults
 * do not show the text, which may be the address of a webhook.
 */
export function text(options: { maxLength: number }) {
  const message = `must be a text of 1 to ${options.maxLength} characters`;
  return z
    .preprocess(
      trimmed,
      z
        .string(problem(message))
        .min(1, `${message}, got 0 characters`)
        .max(options.maxLength, {
          error: ({ input }) => `${message}, got ${(input as string).length} characters`,
        })
        .regex(PRINTABLE, 'must not contain control characters, or bytes that are not UTF-8'),
    )
    .meta({ pattern: VISIBLE });
}

/**
 * Returns the error function of a schema. The text names the value: `must be 0 or 1, got "abc"`. A missing value "is
 * required", a repeated one "was given more than once".
 */
export function problem(message: string) {
  return {
    error: ({ input }: { input?: unknown }) => {
      if (input === undefined) return `is required: it ${message}`;
      return Array.isArray(input) ? `was given more than once; it ${message}` : got(message, input);
    },
  };
}

/** Returns the error function of the schema of a list. */
export function listProblem(message: string) {
  return {
    error: ({ input }: { input?: unknown }) => {
      if (input === undefined) return `is required: it ${message}`;
      return Array.isArray(input) ? `${message}, got ${input.length} items` : got(message, input);
    },
  };
}

function range({ min, max }: { min?: number; max?: number }): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max !== undefined ? ` of at most ${max}` : '';
}

function trimmed(value: unknown): unknown {
  return typeof value === 'string' ? value.trim() : value;
}

export function fromDigits(value: unknown): unknown {
  return typeof value === 'string' && /^\s*[+-]?\d{1,16}\s*$/.test(value) ? Number(value) : value;
}

function fromSwitch(value: unknown): unknown {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : value;
  if (word === '1' || word === 1 || word === 'true') return true;
  if (word === '0' || word === 0 || word === 'false') return false;
  return value;
}

const FAULT = problem('must be a date such as 2026-01-31');

/** An instant as ISO 8601 with a zone, read as Unix milliseconds. */
export function instant() {
  const fault = problem('must be a time such as 2026-01-31T09:00:00Z');
  const schema = { type: 'string', format: 'date-time', maxLength: 40, examples: ['2026-01-31T09:00:00Z'] };
  return z
    .string(fault)
    .trim()
    .pipe(z.iso.datetime({ offset: true, ...fault }))
    .transform((text) => Date.parse(text))
    .meta(schema);
}

/** A calendar date, YYYY-MM-DD. */
export function date() {
  const schema = { type: 'string', format: 'date', maxLength: 10, examples: ['2026-01-31'] };
  return z.string(FAULT).trim().pipe(z.iso.date(FAULT)).meta(schema);
}

/** Returns whether a period does not end before it starts. */
export function isInOrder<Time extends string | number>({
  from,
  to,
}: {
  from?: Time | undefined;
  to?: Time | undefined;
}): boolean {
  return from === undefined || to === undefined || from <= to;
}

/** The fault of a period that is not in order, at its end. */
export const NOT_IN_ORDER = { path: ['to'], error: 'must not be before from' };
