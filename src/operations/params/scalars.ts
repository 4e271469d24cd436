import { z } from 'zod';
import { got } from './shown-value.ts';

/**
 * Text that PostgreSQL accepts: without control characters and unpaired surrogates. U+FFFD stands for bytes of a body that
 * are not UTF-8, so the text is not what the caller meant.
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

/** 0/1 or true/false. */
export function boolean() {
  return z.preprocess(fromSwitch, z.boolean(problem('must be 0, 1, true or false')));
}

/** One of the given words. */
export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.preprocess(trimmed, z.enum(words, problem(`must be one of ${words.join(', ')}`)));
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
