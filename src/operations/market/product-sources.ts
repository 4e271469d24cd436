import { fingerprint } from '../../platform/fingerprint.ts';
import type { Source } from '../define.ts';
import type { Domain } from '../params/domain.ts';
import { productOf } from '../products/normalise.ts';

/** What the provider is asked to return for each product. */
export interface ProductOptions {
  domain: Domain;
  /** The period of the statistics, in days. */
  stats: number;
  history: boolean;
  /** The number of offers. */
  offers: number;
  rating: boolean;
  buybox: boolean;
  stock: boolean;
}

/**
 * Returns one source for each ASIN. All operations that need a product with the same options share its fetch.
 * @param kind `member` for a product without the list of its family.
 */
export function productSources(
  asins: readonly string[],
  { domain, ...options }: ProductOptions,
  kind: 'product' | 'member' = 'product',
): readonly Source[] {
  const optionsId = fingerprint(options);
  return asins.map((asin) => ({
    key: asin,
    identity: `${kind}/${domain}/${asin}/${optionsId}`,
    ...(kind === 'product' ? { read: productOf(asin) } : {}),
  }));
}

/** Returns one source for each code. Its data are the products with the code. */
export function codeSources(
  codes: readonly string[],
  { domain, ...options }: ProductOptions,
): readonly Source[] {
  const optionsId = fingerprint(options);
  return codes.map((code) => ({ key: code, identity: `code/${domain}/${code}/${optionsId}` }));
}
