import { hasData, type Product } from './product.ts';

/** One member of a variation family, as the list of the family names it. */
export interface Member {
  asin: string;
  image?: string | undefined;
  attributes: readonly { dimension?: string; value?: string }[];
}

export interface Family {
  /** Null where the product stands alone. */
  parentAsin: string | null;
  members: readonly Member[];
}

/** The ASIN of the parent that must be asked for the family of this product, or null where it says all itself. */
export function parentToAsk(product: Product): string | null {
  return membersOf(product) === null && product.parentAsin ? product.parentAsin : null;
}

/**
 * The family of a product, from itself or from its parent: children usually carry the list of the whole family too.
 * @param parent the product that `parentToAsk` named, where it named one.
 */
export function familyOf(product: Product, parent: Product | undefined): Family {
  const members = membersOf(product) ?? (parent && membersOf(parent));
  if (!members) return { parentAsin: null, members: [{ asin: product.asin, attributes: [] }] };
  return { parentAsin: product.parentAsin ?? product.asin, members };
}

/** Whether upstream knows the product at all. */
export function isKnown(product: Product | undefined): product is Product {
  return product !== undefined && hasData(product);
}

function membersOf({ variations, variationCSV }: Product): Member[] | null {
  if (Array.isArray(variations) && variations.length > 0) {
    return (variations as (Partial<Member> | null)[]).flatMap((member) =>
      typeof member?.asin === 'string'
        ? [{ asin: member.asin, image: member.image, attributes: member.attributes ?? [] }]
        : [],
    );
  }
  // Recordings from before 2026 have the ASINs only.
  if (typeof variationCSV !== 'string' || variationCSV === '') return null;
  return variationCSV.split(',').map((asin) => ({ asin, attributes: [] }));
}
