import { hasData, type Product } from './product.ts';

/** One member of a variation family, as listed in the family's product. */
export interface Member {
  asin: string;
  image?: string | undefined;
  attributes: readonly { dimension?: string; value?: string }[];
}

export interface Family {
  /** null for a product without variations. */
  parentAsin: string | null;
  members: readonly Member[];
}

/** Returns the ASIN of the parent to fetch for the product's family, or null when the product itself contains it. */
export function parentToAsk(product: Product): string | null {
  return membersOf(product) === null && product.parentAsin ? product.parentAsin : null;
}

/**
 * Returns the family of a product, from the product or its parent. Children usually list the full family as well.
 * @param parent the product that `parentToAsk` returned, if any.
 */
export function familyOf(product: Product, parent: Product | undefined): Family {
  const members = membersOf(product) ?? (parent && membersOf(parent));
  if (!members) return { parentAsin: null, members: [{ asin: product.asin, attributes: [] }] };
  return { parentAsin: product.parentAsin ?? product.asin, members };
}

/** Returns the product without the list of its family. */
export function withoutFamily({ variations: _, variationCSV: __, ...product }: Product): Product {
  return product;
}

/** Returns whether upstream knows the product. */
export function isKnown(product: Product | undefined): product is Product {
  return product !== undefined && hasData(product);
}

/** Returns the members of the family that the product lists, or null when it lists none. */
export function membersOf({ variations, variationCSV }: Product): Member[] | null {
  if (Array.isArray(variations) && variations.length > 0) {
    return (variations as (Partial<Member> | null)[]).flatMap((member) =>
      typeof member?.asin === 'string'
        ? [{ asin: member.asin, image: member.image, attributes: member.attributes ?? [] }]
        : [],
    );
  }
  // Data stored before 2026 has only the ASINs.
  if (typeof variationCSV !== 'string' || variationCSV === '') return null;
  return variationCSV.split(',').map((asin) => ({ asin, attributes: [] }));
}
