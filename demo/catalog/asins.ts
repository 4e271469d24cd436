import { LEAF_COUNT } from './categories.ts';
import { hash } from './random.ts';
import { SELLER_COUNT } from './sellers.ts';

/**
 * An ASIN says by itself what it stands for, so that every ASIN is a product, always the same one, and lists can be
 * made that agree with it:
 *
 *     B0 cc ss xx nn      cc: category (leaf), ss: seller, xx: anything, nn: position in the family
 *
 * each pair being a number in base 36. Families are runs of positions under the same first eight characters; their
 * parents are called BP instead of B0, with the number of the run at the end. ASINs that begin otherwise stand alone.
 * Two prefixes are nobody's: ZZ is known to be gone, ZX has never been heard of.
 */
export interface AsinFacts {
  asin: string;
  kind: 'product' | 'parent' | 'gone' | 'unknown';
  leaf: number;
  seller: number;
  /** The ASIN of the family's parent, and of its members; null for those who stand alone. */
  family: { parent: string; readonly members: string[] } | null;
  /** What members of a family have in common is drawn from this. */
  familySeed: string;
}

const PAIR = 36 * 36;

/** Sizes of families, each as often as it stands here. */
const FAMILY_SIZES = [1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 4, 4, 4, 4, 9, 9, 9, 9, 36, 400] as const;

export function factsOf(asin: string): AsinFacts {
  const isParent = asin.startsWith('BP');
  const key = isParent ? `B0${asin.slice(2, 8)}` : asin.slice(0, 8);
  const leaf = pair(key, 2) % LEAF_COUNT;
  const seller = pair(key, 4) % SELLER_COUNT;
  const base = { asin, leaf, seller };
  if (asin.startsWith('ZZ')) return { ...base, kind: 'gone', family: null, familySeed: asin };
  if (asin.startsWith('ZX')) return { ...base, kind: 'unknown', family: null, familySeed: asin };
  const size = key.startsWith('B0') ? (FAMILY_SIZES[hash('family', key) % FAMILY_SIZES.length] ?? 1) : 1;
  const run = isParent ? pair(asin, 8) : Math.floor(pair(asin, 8) / size);
  if (size === 1) return { ...base, kind: isParent ? 'gone' : 'product', family: null, familySeed: asin };
  const first = run * size;
  if (first >= PAIR) return { ...base, kind: 'gone', family: null, familySeed: asin };
  return {
    ...base,
    kind: isParent ? 'parent' : 'product',
    family: {
      parent: `BP${key.slice(2)}${base36(run)}`,
      // Families may be large, and are rarely looked at.
      get members() {
        return Array.from({ length: Math.min(size, PAIR - first) }, (_, i) => key + base36(first + i));
      },
    },
    familySeed: `${key}/${run}`,
  };
}

/** The `n`th ASIN of a category: thousands of different ones, often with a sibling next to it. */
export function asinOfLeaf(leaf: number, n: number): string {
  return composeAsin(leaf, hash('leaf', leaf, coupleOf(n)) % SELLER_COUNT, n);
}

/** The `n`th ASIN of a seller. */
export function asinOfSeller(seller: number, n: number): string {
  return composeAsin(hash('seller', seller, coupleOf(n)) % LEAF_COUNT, seller, n);
}

/** Numbers come in couples whose ASINs differ in the last character only: siblings, where there is a family. */
function coupleOf(n: number): number {
  return Math.floor(n / 2);
}

function composeAsin(leaf: number, seller: number, n: number): string {
  const couple = coupleOf(n);
  const alternatives = Math.floor(PAIR / LEAF_COUNT);
  const category = leaf + (couple % alternatives) * LEAF_COUNT;
  const anything = Math.floor(couple / 7) % PAIR;
  const position = 2 * (hash('position', couple) % (PAIR / 2)) + (n % 2);
  return `B0${base36(category)}${base36(seller)}${base36(anything)}${base36(position)}`;
}

function pair(text: string, at: number): number {
  return Number.parseInt(text.slice(at, at + 2), 36);
}

function base36(value: number): string {
  return value.toString(36).padStart(2, '0').toUpperCase();
}
