import type { ProductOptions } from '../../operations/market/product.ts';
import { type Product, productsIn } from '../../operations/products/product.ts';
import { madeFrom } from '../../results/cache.ts';
import type { CallContext, KeepaCall, KeepaTransport } from './transport.ts';

/** The age that the caller accepts is sent only if it forces a refresh. */
type FetchOptions = ProductOptions & { update?: number | undefined };

/** Maximum products of a code. Each costs a token, and the customer pays one unit for the code. */
const PRODUCTS_PER_CODE = 5;

/** Maximum ASINs or codes in an upstream request; fewer with offers, which upstream collects live and slowly. */
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
  options: FetchOptions,
  context: CallContext,
): Promise<Map<string, Product>> {
  const products = await fetchList(keepa, 'asin', asins, options, context);
  return new Map(products.map((product) => [product.asin, product]));
}

/**
 * Fetches the products that have UPC, EAN or ISBN codes, by code; at most `asinsPerCall` codes. Codes without a product are
 * absent.
 */
export async function fetchProductsByCode(
  keepa: KeepaTransport,
  codes: readonly string[],
  options: FetchOptions,
  context: CallContext,
): Promise<Map<string, Product[]>> {
  const products = await fetchList(keepa, 'code', codes, options, context);
  const [only, ...others] = codes;
  if (only !== undefined && others.length === 0)
    return new Map(products.length > 0 ? [[only, products]] : []);
  const found = new Map<string, Product[]>();
  for (const code of codes) {
    const matching = products.filter((product) => hasCode(product, code));
    if (matching.length > 0) found.set(code, matching);
  }
  if (products.every((product) => codes.some((code) => hasCode(product, code)))) return found;
  // The answer does not say which code a product without codes was found by, so the remaining codes are sent one by one.
  for (const code of codes.filter((one) => !found.has(one))) {
    const alone = await fetchProductsByCode(keepa, [code], options, context);
    for (const [key, matching] of alone) found.set(key, matching);
  }
  return found;
}

/** A UPC is an EAN without its leading zero. */
function hasCode({ upcList, eanList, gtinList }: Product, code: string): boolean {
  const written = [upcList, eanList, gtinList].flat();
  return written.some((one) => typeof one === 'string' && one.padStart(14, '0') === code.padStart(14, '0'));
}

async function fetchList(
  keepa: KeepaTransport,
  name: 'asin' | 'code',
  keys: readonly string[],
  options: FetchOptions,
  context: CallContext,
): Promise<Product[]> {
  const envelope = await keepa.json(productCall(name, keys, options), context);
  const products = productsIn(envelope);
  const [only, ...others] = products;
  if (only && keys.length === 1 && others.length === 0) madeFrom(envelope, only);
  return products;
}

function productCall(name: 'asin' | 'code', keys: readonly string[], options: FetchOptions): KeepaCall {
  const { domain, stats, history, offers, rating, buybox, stock, update } = options;
  return {
    path: 'product',
    params: {
      domain,
      [name]: keys.join(','),
      ...(name === 'code' ? { 'code-limit': PRODUCTS_PER_CODE } : {}),
      stats,
      history: Number(history),
      ...(offers > 0 ? { offers } : {}),
      ...(rating ? { rating: 1 } : {}),
      ...(buybox ? { buybox: 1 } : {}),
      ...(stock ? { stock: 1 } : {}),
      // Without a forced refresh upstream's default of one hour applies, which equals our cache lifetime.
      ...(update === 0 ? { update } : {}),
    },
    cost: keys.length * costOf(options),
    payload: { field: 'products', kind: 'list', mayBeAbsent: false },
  };
}

/** Returns the expected tokens for one product: 6 for each page of ten offers, the rest as listed by the provider. */
function costOf({ offers, rating, buybox, stock, update }: FetchOptions): number {
  const extras = Number(rating) + (stock ? 2 : 0) + Number(update === 0);
  if (offers > 0) return 6 * Math.ceil(offers / 10) + extras;
  return 1 + (buybox ? 2 : 0) + extras;
}
