import slotOf from 'cluster-key-slot';

const SLOTS = 16_384;

/** The greatest distance between the slot of a tag and its place. */
const TOLERANCE = 64;

/**
 * Returns a hash tag for each index. Tag 0 is `base`; the slots of the others lie so that those of the first 3, 9 or 27 tags
 * are evenly spread: on a cluster of three masters with equal shares, each has a third of them.
 */
export function spreadTag(base: string, index: number): string {
  if (index === 0) return base;
  const place = (slotOf(base) + Math.round(radicalInverse(index) * SLOTS)) % SLOTS;
  for (let variant = 0; ; variant += 1) {
    const tag = `${base}-${index}.${variant}`;
    const distance = Math.abs(slotOf(tag) - place);
    if (Math.min(distance, SLOTS - distance) <= TOLERANCE) return tag;
  }
}

/** Returns the number with the digits of `index` behind the point, in base 3: 1/3, 2/3, 1/9, 4/9, 7/9, 2/9, ... */
function radicalInverse(index: number): number {
  let inverse = 0;
  for (let [rest, weight] = [index, 1 / 3]; rest > 0; rest = Math.floor(rest / 3), weight /= 3)
    inverse += (rest % 3) * weight;
  return inverse;
}
