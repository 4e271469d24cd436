const SEPARATOR = '|'.charCodeAt(0);
const DIGIT_0 = '0'.charCodeAt(0);

/** Returns a pseudo-random number from 0 to 2^32-1, always the same for the same parts. */
export function hash(...parts: readonly (string | number)[]): number {
  return hashOf(stateAfter(...parts));
}

/** Returns a number in [0, 1), always the same for the same parts. */
export function fraction(...parts: readonly (string | number)[]): number {
  return hash(...parts) / 2 ** 32;
}

/** Returns one of the items, always the same one for the same parts. There must be at least one item. */
export function pick<T>(items: readonly T[], ...parts: readonly (string | number)[]): T {
  return items[hash(...parts) % items.length] as T;
}

/**
 * Hashes in steps, for millions of numbers with the same first parts:
 * `hashOf(plus(stateAfter('noise'), 7))` is `hash('noise', 7)`.
 */
export function stateAfter(...parts: readonly (string | number)[]): number {
  let state = 0x811c9dc5;
  for (const part of parts) {
    const text = String(part);
    for (let i = 0; i < text.length; i += 1) state = mix(state, text.charCodeAt(i));
    state = mix(state, SEPARATOR);
  }
  return state;
}

/** @param n an integer from 0 to 2^31-1, which is hashed without creating a text. */
export function plus(state: number, n: number): number {
  let unit = 1;
  while (n / unit >= 10) unit *= 10;
  let mixed = state;
  for (let rest = n; unit >= 1; unit = (unit / 10) | 0) {
    const digit = (rest / unit) | 0;
    mixed = mix(mixed, DIGIT_0 + digit);
    rest -= digit * unit;
  }
  return mix(mixed, SEPARATOR);
}

export function hashOf(state: number): number {
  let value = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

export function fractionOf(state: number): number {
  return hashOf(state) / 2 ** 32;
}

/** Returns a smooth curve through a pseudo-random value between -1 and 1 at each integer. @param x at least 0. */
export function curveAt(state: number, x: number): number {
  const n = Math.floor(x);
  const share = x - n;
  const [from, to] = [fractionOf(plus(state, n)), fractionOf(plus(state, n + 1))];
  return 2 * (from + (to - from) * share * share * (3 - 2 * share)) - 1;
}

function mix(state: number, code: number): number {
  return Math.imul(state ^ code, 0x01000193);
}
