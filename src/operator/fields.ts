import { z } from 'zod';

/** Fields of the operator's commands and forms, read from text. */
export function wholeNumber(min: number, max: number) {
  const problem = `must be a whole number from ${min} to ${max}`;
  return z
    .string({ error: problem })
    .regex(/^\d+$/, problem)
    .transform(Number)
    .pipe(z.number().min(min, problem).max(max, problem));
}

export const wallet = z.enum(['general', 'off_peak'], 'must be general or off_peak');

export const instant = z
  .union(
    [z.iso.date(), z.iso.datetime({ offset: true })],
    'must be a time such as 2027-01-31 or 2027-01-31T12:00:00Z',
  )
  .transform((text) => new Date(text));
