import { z } from 'zod';
import { OperatorError } from './operator-error.ts';

export { instant, wallet, wholeNumber } from '../operator/fields.ts';

/** Reads what was given on the command line. @throws OperatorError naming each option that is no good. */
export function readInput<Input>(schema: z.ZodType<Input>, given: Record<string, unknown>): Input {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const faults = result.error.issues.map(({ path, message }) => `${nameOf(String(path[0]))} ${message}`);
  throw new OperatorError(`${[...new Set(faults)].join('; ')}.`);
}

export const accountId = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'must be the number of an account, as `account list` shows it')
  .transform(Number);

export const email = z
  .string()
  .trim()
  .toLowerCase()
  .max(254, 'must have at most 254 letters')
  .pipe(z.email('must be an e-mail address such as ann@example.com'));

export const accountName = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(100, 'must have at most 100 letters')
  .regex(/^\P{C}*$/u, 'must not have control characters');

/** `validDays` is `--valid-days` on the command line, `id` the bare argument ID. */
function nameOf(field: string): string {
  if (field === 'id') return 'ID';
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
