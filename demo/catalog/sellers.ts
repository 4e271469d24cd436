import { wordsOf } from '../words.ts';
import { fraction, hash, pick } from './random.ts';

export const SELLER_COUNT = 1296;

export interface DemoSeller {
  index: number;
  sellerId: string;
  sellerName: string;
  /** Number of products in its storefront. */
  productCount: number;
  ratingCount: number;
  /** Percent. */
  ratingPercent: number;
}

const FIRST = wordsOf('seller first words');
const SECOND = wordsOf('seller second words');

/** The marketplace's own seller id, which exists on every site. */
const MARKETPLACE = 'ATVPDKIKX0DER';

/** The seller of returned goods, the example of many documents. */
const RETURNS = 'A2L77EE7U53NWQ';

/** Returns a seller as a site knows it: the ratings are those of the site. */
export function sellerAt(index: number, domain = 1): DemoSeller {
  return {
    index,
    sellerId: idOf(index),
    sellerName:
      index <= 1
        ? (['Marketplace', 'Marketplace Returns'][index] ?? '')
        : `${pick(FIRST, 'first', index)} ${pick(SECOND, 'second', index)} ${index}`,
    productCount: 20 + (hash('products', index) % 3000),
    ratingCount: Math.floor(10 * 10_000 ** fraction('ratings', domain, index)),
    ratingPercent: 70 + (hash('percent', domain, index) % 31),
  };
}

/** Returns the seller with this id, or null: some well-formed ids have no seller. */
export function sellerById(sellerId: string, domain: number): DemoSeller | null {
  const index = INDEX_BY_ID.get(sellerId);
  return index === undefined ? null : sellerAt(index, domain);
}

/** Returns sellers, most ratings first. */
export function sellersByRatings(domain: number): DemoSeller[] {
  return Array.from({ length: SELLER_COUNT }, (_, index) => sellerAt(index, domain)).sort(
    (a, b) => b.ratingCount - a.ratingCount,
  );
}

function idOf(index: number): string {
  if (index === 0) return MARKETPLACE;
  if (index === 1) return RETURNS;
  const digits = [hash('id-a', index), hash('id-b', index)].map((part) =>
    part.toString(36).padStart(7, '0').slice(-6),
  );
  return `A${digits.join('')}${index.toString(36).padStart(2, '0').slice(-1)}`.toUpperCase();
}

const INDEX_BY_ID = new Map(Array.from({ length: SELLER_COUNT }, (_, index) => [idOf(index), index]));
