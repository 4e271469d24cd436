/** A random number generator with a seed: the same seed gives the same numbers. */
export interface Dice {
  /** In [0, 1). */
  fraction(): number;
  /** From `least` to `most`, both included. */
  integer(least: number, most: number): number;
  pick<T>(items: readonly T[]): T;
  shuffle<T>(items: readonly T[]): T[];
  /** Creates an independent generator for a concurrent user. */
  fork(): Dice;
}

export function createDice(seed: number): Dice {
  let state = seed >>> 0;
  // Mulberry32: 32 bits of state are plenty to choose victims with.
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (least: number, most: number) => least + Math.floor(fraction() * (most - least + 1));
  return {
    fraction,
    integer,
    pick: <T>(items: readonly T[]) => items[integer(0, items.length - 1)] as T,
    shuffle: <T>(items: readonly T[]) =>
      items
        .map((item) => ({ item, place: fraction() }))
        .sort((a, b) => a.place - b.place)
        .map(({ item }) => item),
    fork: () => createDice(integer(0, 2 ** 32 - 1)),
  };
}
