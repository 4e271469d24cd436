import { gtinCheckDigit } from '../../src/operations/params/lists.ts';
import { LEAF_COUNT } from './categories.ts';
import { hash } from './random.ts';
import { SELLER_COUNT } from './sellers.ts';

/**
 * An ASIN encodes its product, so that every ASIN always means the same product and lists can be generated consistently:
 *
 *     B0 cc ss xx nn      cc: category (leaf), ss: seller, xx: anything, nn: position in the family
 *
 * Each pair is a number in base 36. Families are ranges of positions with the same first eight characters; parents begin
 * with BP instead of B0 and end with the number of the range. The family of B0ZZZZZZ00 has 1,000 members. ASINs with other
 * beginnings have no family. Two prefixes have no product: ZZ is a removed product, ZX an unknown one.
 */
export interface AsinFacts {
  asin: string;
  kind: 'product' | 'parent' | 'gone' | 'unknown';
  leaf: number;
  seller: number;
  /** The ASINs of the family's parent and members; null for products without a family. */
  family: { parent: string; readonly members: string[] } | null;
  /** Seed of the values that all members of a family share. */
  familySeed: string;
  /** Number of the product among the members of its family. */
  place: number;
}

const PAIR = 36 * 36;

/** Sizes of families. A more frequent size is listed more often. */
const FAMILY_SIZES = [1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 4, 4, 5, 6, 6, 8, 8, 9, 10, 12] as const;

/** The family of the ASINs that begin with this has 1,000 members. */
const LARGE_FAMILY = 'B0ZZZZZZ';
const LARGE_FAMILY_SIZE = 1000;

function familySize(key: string): number {
  if (key === LARGE_FAMILY) return LARGE_FAMILY_SIZE;
  return key.startsWith('B0') ? (FAMILY_SIZES[hash('family', key) % FAMILY_SIZES.length] ?? 1) : 1;
}

export function factsOf(asin: string): AsinFacts {
  const isParent = asin.startsWith('BP');
  const key = isParent ? `B0${asin.slice(2, 8)}` : asin.slice(0, 8);
  const leaf = pair(key, 2) % LEAF_COUNT;
  const seller = pair(key, 4) % SELLER_COUNT;
  const base = { asin, leaf, seller, place: 0 };
  if (asin.startsWith('ZZ')) return { ...base, kind: 'gone', family: null, familySeed: asin };
  if (asin.startsWith('ZX')) return { ...base, kind: 'unknown', family: null, familySeed: asin };
  const size = familySize(key);
  const run = isParent ? pair(asin, 8) : Math.floor(pair(asin, 8) / size);
  const first = run * size;
  // The last range has what is left of the positions.
  const count = Math.min(size, PAIR - first);
  if (count <= 1) return { ...base, kind: isParent ? 'gone' : 'product', family: null, familySeed: asin };
  return {
    ...base,
    kind: isParent ? 'parent' : 'product',
    place: isParent ? 0 : pair(asin, 8) - first,
    family: {
      parent: `BP${key.slice(2)}${base36(run)}`,
      // Created on demand, because families may be large and are rarely needed.
      get members() {
        return Array.from({ length: count }, (_, i) => key + base36(first + i));
      },
    },
    familySeed: `${key}/${run}`,
  };
}

/** Returns the `n`th ASIN of a category. There are thousands, often with a sibling as their neighbour. */
export function asinOfLeaf(leaf: number, n: number): string {
  return composeAsin(leaf, hash('leaf', leaf, coupleOf(n)) % SELLER_COUNT, n);
}

/** Returns the `n`th ASIN of a seller. */
export function asinOfSeller(seller: number, n: number): string {
  return composeAsin(hash('seller', seller, coupleOf(n)) % LEAF_COUNT, seller, n);
}

/** Numbers form pairs whose ASINs differ only in the last character, and which are siblings if there is a family. */
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

/** Returns the first product of each family. @param of returns the facts about an entry. */
export function onePerFamily<T>(entries: readonly T[], of: (entry: T) => AsinFacts): T[] {
  const seen = new Set<string>();
  return entries.filter((entry) => {
    const { asin, family } = of(entry);
    const name = family?.parent ?? asin;
    return !seen.has(name) && seen.add(name);
  });
}

// An EAN encodes the ASIN of its product, so that the product is found again: the digits after the first one are the
// last eight characters of the ASIN, read as a number in base 36, with the third pair of characters first. The first
// digit is 0 for even numbers, so that the EAN is also a UPC, and 4 for odd ones. ASINs whose number is too long for eleven digits have no EAN.

const CHARACTERS = 8;
const DIGITS = 11;

/** Returns the EAN of a product; null for a product without one. */
function eanOf(asin: string): string | null {
  const [, category, seller, anything, position] = asin.match(/../g) ?? [];
  const number = Number.parseInt(`${anything}${category}${seller}${position}`, 36);
  if (!asin.startsWith('B0') || number >= 10 ** DIGITS) return null;
  const digits = (number % 2 === 0 ? '0' : '4') + String(number).padStart(DIGITS, '0');
  return digits + gtinCheckDigit(digits);
}

/** Returns the ASIN of a UPC or an EAN; null if no product has it. */
export function asinOfCode(code: string): string | null {
  const ean = code.padStart(1 + DIGITS + 1, '0');
  const number = Number(ean.slice(1, -1)).toString(36).toUpperCase().padStart(CHARACTERS, '0');
  const [anything, category, seller, position] = number.match(/../g) ?? [];
  const asin = `B0${category}${seller}${anything}${position}`;
  return /^\d{13}$/.test(ean) && eanOf(asin) === ean ? asin : null;
}

/** Returns the codes of a product as the provider lists them. */
export function codesOf(asin: string): Record<'eanList' | 'upcList' | 'gtinList', string[] | null> {
  const ean = eanOf(asin);
  if (ean === null) return { eanList: null, upcList: null, gtinList: null };
  return { eanList: [ean], upcList: ean.startsWith('0') ? [ean.slice(1)] : null, gtinList: [`0${ean}`] };
}
