import type { z } from 'zod';
import type { ParameterFault } from '../platform/errors.ts';

/** Converts a zod issue into one fault for each parameter it concerns. */
export function toFaults(issue: z.core.$ZodIssue): ParameterFault[] {
  const { path, message } = issue;
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      parameter: [...path, key].join('.'),
      problem: 'is not a known field',
    }));
  }
  return [{ parameter: path.length > 0 ? path.join('.') : 'body', problem: message }];
}
