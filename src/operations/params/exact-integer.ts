import { z } from 'zod';
import type { JsonSchema } from './documentation.ts';
import { problem } from './scalars.ts';

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
export function categoryId() {
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
    .meta({ ...CATEGORY_ID }) as unknown as z.ZodType<ExactInteger>;
}

const CATEGORY_ID: JsonSchema = {
  anyOf: [
    { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    { type: 'string', pattern: '^\\d{1,19}$', maxLength: 19 },
  ],
};
