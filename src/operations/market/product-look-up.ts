import type { Product } from '../products/product.ts';

/** What a product look-up asks for: either of the two. */
export interface LookedUp {
  asins?: string[] | undefined;
  codes?: string[] | undefined;
}

/** Why an ASIN or a code could not be fetched. It is not charged. */
const FETCH_ERRORS = ['UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT', 'BUSY', 'CANCELLED'] as const;

export const LOOK_UP_ERRORS = ['PRODUCT_NOT_FOUND', 'PRODUCT_UNAVAILABLE', ...FETCH_ERRORS] as const;

/** An ASIN or a code without a product. */
export interface LookUpError {
  asin?: string;
  code?: string;
  errorId: (typeof LOOK_UP_ERRORS)[number];
}

type FetchError = (typeof FETCH_ERRORS)[number];

export function isFetchError(errorId: string | undefined): errorId is FetchError {
  return FETCH_ERRORS.some((one) => one === errorId);
}

export function fetchErrorsOf(data: Record<string, unknown>): FetchError[] {
  return (data.errors as LookUpError[]).map(({ errorId }) => errorId).filter(isFetchError);
}

/** Returns the ASINs or codes of a call. */
export function keysOf({ asins, codes }: LookedUp): readonly string[] {
  return codes ?? asins ?? [];
}

/** Returns the answer to a look-up of a part of the ASINs or codes. */
export function partOf(data: Record<string, unknown>, part: LookedUp): Record<string, unknown> {
  const keys = new Set(keysOf(part));
  const products = (data.products as { asin: string; codes?: string[] }[]).flatMap((product) => {
    if (!part.codes) return keys.has(product.asin) ? [product] : [];
    const codes = product.codes?.filter((code) => keys.has(code)) ?? [];
    return codes.length > 0 ? [{ ...product, codes }] : [];
  });
  const errors = (data.errors as LookUpError[]).filter(({ asin, code }) => keys.has(asin ?? code ?? ''));
  return { ...data, count: products.length, products, errors };
}

/** The provider returns an unknown ASIN without an element, or as an element of the type 4, which has no data. */
export function noDataError(product: Product | undefined): LookUpError['errorId'] {
  return product?.productType === 3 ? 'PRODUCT_UNAVAILABLE' : 'PRODUCT_NOT_FOUND';
}
