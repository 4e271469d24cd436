const SEPARATOR = '|'.charCodeAt(0);

/** A number from 0 to 2^32-1 that looks random and is always the same for the same parts. */
export function hash(...parts: readonly (string | number)[]): number {
  let value = 0x811c9dc5;
  for (const part of parts) {
    const text = String(part);
    for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
    value = Math.imul(value ^ SEPARATOR, 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

/** A number in [0, 1), always the same for the same parts. */
export function fraction(...parts: readonly (string | number)[]): number {
  return hash(...parts) / 2 ** 32;
}

/** One of the items, always the same for the same parts. */
export function pick<T>(items: readonly [T, ...T[]], ...parts: readonly (string | number)[]): T {
  return items[hash(...parts) % items.length] ?? items[0];
}
