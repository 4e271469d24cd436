import { LRUCache } from 'lru-cache';
import { asinOfLeaf } from './asins.ts';
import { LEAF_COUNT } from './categories.ts';
import { type ProductSketch, sketch } from './sketch.ts';

/** The products of the three sites that were requested most recently. */
const productsBySite = new LRUCache<number, ProductSketch[]>({ max: 3 });

/** Returns the products that finder and deals select from. They are kept, because every selection reads all of them. */
export function listedProducts(domain: number, count: number): ProductSketch[] {
  const products = productsBySite.get(domain) ?? [];
  productsBySite.set(domain, products);
  for (let i = products.length; i < count; i += 1)
    products.push(sketch(asinOfLeaf(i % LEAF_COUNT, Math.floor(i / LEAF_COUNT)), domain));
  return products.slice(0, count);
}
