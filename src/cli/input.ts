import { z } from 'zod';
import { OperatorError } from './operator-error.ts';

export { instant, wallet, wholeNumber } from '../operator/fields.ts';

/** Validates the command line. @throws OperatorError that names each invalid option. */
export function readInput<Input>(schema: z.ZodType<Input>, given: Record<string, unknown>): Input {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const faults = result.error.issues.map(({ path, message }) => `${nameOf(String(path[0]))} ${message}`);
  throw new OperatorError(`${[...new Set(faults)].join('; ')}.`);
}

export const accountId = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'must be an account number; `account list` shows them')
  .transform(Number);

export const email = z
  .string()
  .trim()
  .toLowerCase()
  .max(254, 'must have at most 254 characters')
  .pipe(z.email('must be an e-mail address such as ann@example.com'));

export const accountName = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(100, 'must have at most 100 characters')
  .regex(/^\P{C}*$/u, 'must not have control characters');

/** Returns `--valid-days` for `validDays`, and ID for the argument `id`. */
function nameOf(field: string): string {
  if (field === 'id') return 'ID';
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
