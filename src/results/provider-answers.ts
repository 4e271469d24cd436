import type { Compressed } from './compression.ts';

/** The bytes of provider answers, by the values that were parsed from them. */
const answers = new WeakMap<object, Compressed>();

/** Remembers, as long as a value is used, the compressed answer of a provider that has no other data. */
export function noteAnswer(value: object, answer: Compressed): void {
  answers.set(value, answer);
}

/** Returns the compressed answer from which a value was parsed; null if it has other data, too, or was not compressed. */
export function answerOf(value: unknown): Compressed | null {
  return typeof value === 'object' && value !== null ? (answers.get(value) ?? null) : null;
}

/** Remembers that a value was made from an answer which has no other data. @returns the value. */
export function madeFrom<Value extends object | null>(answer: object, value: Value): Value {
  const bytes = answerOf(answer);
  if (bytes && value !== null) noteAnswer(value, bytes);
  return value;
}
