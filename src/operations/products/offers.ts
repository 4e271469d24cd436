import type { Product } from './product.ts';

/**
 * Returns a copy with at most `count` offers: live ones first, in page order, then the most recently seen. Upstream
 * returns at least 20 and mixes live and past offers.
 */
export function limitOffers(product: Product, count: number): Product {
  const { offers, liveOffersOrder } = product;
  if (!offers || offers.length <= count) return product;
  const live = (liveOffersOrder ?? []).filter((index) => index >= 0 && index < offers.length);
  const isLive = new Set(live);
  const past = offers
    .map((_, index) => index)
    .filter((index) => !isLive.has(index))
    .sort((a, b) => (offers[b]?.lastSeen ?? 0) - (offers[a]?.lastSeen ?? 0));
  return keepOffers(product, [...live, ...past].slice(0, count));
}

/** Returns the product without offers, which upstream also sends with stock data. */
export function withoutOffers(product: Product): Product {
  if (!product.offers) return product;
  const { offers: _, liveOffersOrder: __, ...rest } = product;
  return rest;
}

/** Returns a copy with only the offers at these indices, in that order, and a matching `liveOffersOrder`. */
export function keepOffers(product: Product, indices: readonly number[]): Product {
  const { offers, liveOffersOrder } = product;
  if (!offers) return product;
  const newIndex = new Map(indices.map((index, position) => [index, position]));
  return {
    ...product,
    offers: indices.flatMap((index) => offers.slice(index, index + 1)),
    ...(liveOffersOrder
      ? { liveOffersOrder: liveOffersOrder.flatMap((index) => newIndex.get(index) ?? []) }
      : {}),
  };
}
