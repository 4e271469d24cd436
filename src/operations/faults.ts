import type { z } from 'zod';
import type { ParameterFault } from '../platform/errors.ts';
import { didYouMean } from './params/nearest-name.ts';

const UNKNOWN = 'is not a known field';

/** A suggestion compares a name with all others, and a body may have a thousand fields. */
const MOST_SUGGESTIONS = 3;

/** Returns the message of an issue with unknown keys: a line for each of them, which may suggest a known name. */
export function unknownKeys(keys: readonly string[], known: readonly string[]): string {
  return keys
    .map((key, i) => (i < MOST_SUGGESTIONS ? `${UNKNOWN}${didYouMean(key, known)}` : UNKNOWN))
    .join('\n');
}

/** Converts a zod issue into one fault for each parameter it concerns. */
export function toFaults(issue: z.core.$ZodIssue): ParameterFault[] {
  const { path, message } = issue;
  if (issue.code === 'unrecognized_keys') {
    const lines = message.split('\n');
    return issue.keys.map((key, i) => ({
      parameter: [...path, key].join('.'),
      problem: lines[i]?.startsWith(UNKNOWN) ? lines[i] : UNKNOWN,
    }));
  }
  return [{ parameter: path.length > 0 ? path.join('.') : 'body', problem: message }];
}
