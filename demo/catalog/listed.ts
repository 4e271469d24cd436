import { asinOfLeaf } from './asins.ts';
import { LEAF_COUNT } from './categories.ts';
import { type ProductSketch, sketch } from './sketch.ts';

let kept: { domain: number; products: ProductSketch[] } = { domain: 0, products: [] };

/**
 * Returns the products that finder and deals select from. Those of the last site are kept, because every selection
 * reads all of them.
 */
export function listedProducts(domain: number, count: number): ProductSketch[] {
  if (kept.domain !== domain) kept = { domain, products: [] };
  const { products } = kept;
  for (let i = products.length; i < count; i += 1)
    products.push(sketch(asinOfLeaf(i % LEAF_COUNT, Math.floor(i / LEAF_COUNT)), domain));
  return products.slice(0, count);
}
