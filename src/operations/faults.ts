import type { z } from 'zod';
import type { ParameterFault } from '../platform/errors.ts';

/** The most corrections of a misspelt name. */
const MOST_CORRECTIONS = 4;

/** The names that are compared: any two codes of two letters are near. */
const SHORTEST_NAME = 3;
const LONGEST_NAME = 60;

/** The most names that a suggestion has: `current_NEW` is as near to its minimum as to its maximum. */
const MOST_SUGGESTED = 2;

/** Returns the known names that are nearest to a misspelt one as `; did you mean a or b?`, or '' if none is near. */
export function didYouMean(name: string, known: Iterable<string>): string {
  if (name.length < SHORTEST_NAME || name.length > LONGEST_NAME) return '';
  let least = Math.min(MOST_CORRECTIONS, Math.max(1, Math.floor(name.length * 0.4)));
  let nearest: string[] = [];
  for (const other of known) {
    if (Math.abs(other.length - name.length) > least) continue;
    const [a, b] = [name.toLowerCase(), other.toLowerCase()];
    const corrections = lacksMore(b, a, least) ? least + 1 : correctionsBetween(a, b, least);
    if (corrections > least) continue;
    if (corrections < least) nearest = [];
    least = corrections;
    nearest.push(other);
  }
  const suggested = [...new Set(nearest)].slice(0, MOST_SUGGESTED);
  return suggested.length === 0 ? '' : `; did you mean ${suggested.join(' or ')}?`;
}

/** Returns whether a text lacks more than some characters of another one. Each needs a correction, and this is quick to find out. */
function lacksMore(text: string, other: string, most: number): boolean {
  let rest = text;
  let missing = 0;
  for (const letter of other) {
    if (rest.includes(letter)) rest = rest.replace(letter, '');
    else missing += 1;
    if (missing > most) return true;
  }
  return false;
}

/** Returns the number of characters to insert, remove, replace or swap; more than `most` if it is larger. */
function correctionsBetween(a: string, b: string, most: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(
        Math.min(
          at(last, j) + 1,
          at(row, j - 1) + 1,
          at(last, j - 1) + (isSame ? 0 : 1),
          isSwapped ? at(beforeLast, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    if (Math.min(...row) > most) return most + 1;
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}

const UNKNOWN = 'is not a known field';

/** A suggestion compares a name with all others, and a body may have a thousand fields. */
const MOST_SUGGESTIONS = 3;

/** Returns the message of an issue with unknown keys: a line for each of them, which may suggest a known name. */
export function unknownKeys(keys: readonly string[], known: Iterable<string>): string {
  return keys
    .map((key, i) => (i < MOST_SUGGESTIONS ? `${UNKNOWN}${didYouMean(key, known)}` : UNKNOWN))
    .join('\n');
}

/** Returns the faults of a value that does not match its schema. Several rules may refuse it in the same words: they are one fault. */
export function faultsIn({ issues }: z.ZodError): ParameterFault[] {
  const faults = issues.flatMap(toFaults);
  const isRepeated = ({ parameter, problem }: ParameterFault, i: number) =>
    faults[i - 1]?.parameter === parameter && faults[i - 1]?.problem === problem;
  return faults.filter((fault, i) => !isRepeated(fault, i));
}

/** Converts a zod issue into one fault for each parameter it concerns. */
function toFaults(issue: z.core.$ZodIssue): ParameterFault[] {
  const { path, message } = issue;
  if (issue.code === 'unrecognized_keys') {
    const lines = message.split('\n');
    return issue.keys.map((key, i) => ({
      parameter: [...path, key].join('.'),
      problem: lines[i]?.startsWith(UNKNOWN) ? lines[i] : UNKNOWN,
    }));
  }
  const sentAs = issue.code === 'custom' ? issue.params?.sentAs : undefined;
  const names = typeof sentAs === 'string' ? [...path.slice(0, -1), sentAs] : path;
  return [{ parameter: names.length > 0 ? names.join('.') : 'body', problem: message }];
}
