import type { ProductOptions } from '../../operations/market/product.ts';
import { normaliseProduct } from '../../operations/products/normalise.ts';
import type { Product } from '../../operations/products/product.ts';
import type { CallContext, KeepaCall, KeepaTransport } from './transport.ts';

/** Maximum ASINs in an upstream request; fewer with offers, which upstream collects live and slowly. */
const ASINS_PER_CALL = 100;
const ASINS_PER_OFFERS_CALL = 20;

export function asinsPerCall({ offers }: ProductOptions): number {
  return offers > 0 ? ASINS_PER_OFFERS_CALL : ASINS_PER_CALL;
}

/**
 * Fetches products by ASIN, at most `asinsPerCall`, with csv and stats padded to the full number of series. Products
 * without upstream data are absent.
 */
export async function fetchProducts(
  keepa: KeepaTransport,
  asins: readonly string[],
  options: ProductOptions & { update?: number | undefined },
  context: CallContext,
): Promise<Map<string, Product>> {
  const { products } = await keepa.json(productCall(asins, options), context);
  const found = new Map<string, Product>();
  for (const product of Array.isArray(products) ? products : []) {
    if (isProduct(product)) found.set(product.asin, normaliseProduct(product));
  }
  return found;
}

function productCall(
  asins: readonly string[],
  options: ProductOptions & { update?: number | undefined },
): KeepaCall {
  const { domain, stats, history, offers, rating, buybox, stock, update } = options;
  return {
    path: 'product',
    params: {
      domain,
      asin: asins.join(','),
      stats,
      history: Number(history),
      ...(offers > 0 ? { offers } : {}),
      ...(rating ? { rating: 1 } : {}),
      ...(buybox ? { buybox: 1 } : {}),
      ...(stock ? { stock: 1 } : {}),
      // Without a forced refresh upstream's default of one hour applies, which equals our cache lifetime.
      ...(update === 0 ? { update } : {}),
    },
    cost: asins.length * costOf(options),
    payload: { field: 'products', kind: 'list', mayBeAbsent: false },
  };
}

/** Returns the expected tokens for one product: 6 for each page of ten offers, the rest as listed by the provider. */
function costOf({
  offers,
  rating,
  buybox,
  stock,
  update,
}: ProductOptions & { update?: number | undefined }): number {
  const extras = Number(rating) + (stock ? 2 : 0) + Number(update === 0);
  if (offers > 0) return 6 * Math.ceil(offers / 10) + extras;
  return 1 + (buybox ? 2 : 0) + extras;
}

/** Returns whether an element of an answer is a product. */
export function isProduct(value: unknown): value is Product {
  return typeof value === 'object' && value !== null && typeof (value as Product).asin === 'string';
}
