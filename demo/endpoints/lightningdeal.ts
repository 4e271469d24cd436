import { asinOfLeaf } from '../catalog/asins.ts';
import { LEAF_COUNT } from '../catalog/categories.ts';
import { fraction, hash } from '../catalog/random.ts';
import { sellerAt } from '../catalog/sellers.ts';
import { sketch } from '../catalog/sketch.ts';
import { HOUR } from '../minutes.ts';
import { domainOf, type Endpoint, invalidParameter } from '../protocol.ts';

const LIST_MINUTES = 10;

const STATES = new Set(['AVAILABLE', 'WAITLIST', 'SOLDOUT', 'WAITLISTFULL', 'EXPIRED', 'SUPPRESSED']);

/** The lists by site, created every ten minutes as upstream's are, and cached as text: a list has over 10 MB. */
const lists = new Map<string, string>();

/** @param listLength number of deals of each site. */
export function lightningdeal(listLength: number): Endpoint {
  return ({ params, nowMinutes }) => {
    const domain = domainOf(params);
    const { asin, state } = params;
    if (state !== undefined && !STATES.has(state)) throw invalidParameter();
    const madeAt = nowMinutes - (nowMinutes % LIST_MINUTES);
    if (asin !== undefined && asin !== '') {
      if (!/^[A-Z0-9]{10}$/.test(asin)) throw invalidParameter();
      const deals = fraction('deal', domain, asin) < 0.7 ? [dealOf(asin, domain, madeAt)] : [];
      return {
        payload: { lightningDeals: deals.filter((deal) => !state || deal.dealState === state) },
        tokens: 1,
      };
    }
    const key = `${domain}/${madeAt}/${listLength}/${state ?? ''}`;
    let text = lists.get(key);
    if (text === undefined) {
      const deals = Array.from({ length: listLength }, (_, i) =>
        dealOf(asinOfLeaf(i % LEAF_COUNT, Math.floor(i / LEAF_COUNT) * 3), domain, madeAt),
      );
      text = `"lightningDeals":${JSON.stringify(deals.filter((deal) => !state || deal.dealState === state))}`;
      if (lists.size > 3) lists.clear();
      lists.set(key, text);
    }
    return { payloadText: text, tokens: 500 };
  };
}

function dealOf(asin: string, domain: number, now: number) {
  const product = sketch(asin, domain);
  // A deal starts between three days ago and tomorrow, and lasts 4 to 12 hours.
  const startTime = now - 3 * 24 * HOUR + HOUR * (hash('start', domain, asin) % 96);
  const endTime = startTime + HOUR * (4 + (hash('length', asin) % 9));
  const price = Math.max(product.current(1, now), 100);
  const percentOff = 10 + (hash('off', asin) % 50);
  const claimed = Math.min(100, hash('claimed', asin) % 130);
  const dealState = stateOf(asin, now, startTime, endTime, claimed);
  return {
    domainId: domain,
    lastUpdate: now,
    asin,
    title: product.title,
    sellerId: sellerAt(product.facts.seller).sellerId,
    sellerName: sellerAt(product.facts.seller).sellerName,
    dealId: hash('deal', product.facts.familySeed).toString(16),
    dealPrice: startTime > now ? -1 : Math.round((price * (100 - percentOff)) / 100),
    currentPrice: price,
    image: product.imageName,
    isPrimeEligible: true,
    isFulfilledByAmazon: hash('fba', asin) % 2 === 0,
    isMAP: false,
    rating: product.current(16, now),
    totalReviews: product.current(17, now),
    dealState,
    startTime,
    endTime,
    percentClaimed: startTime > now ? 0 : claimed,
    percentOff,
    variation: product.attributes,
  };
}

function stateOf(asin: string, now: number, start: number, end: number, claimed: number): string {
  if (hash('suppressed', asin) % 50 === 0) return 'SUPPRESSED';
  if (end <= now) return 'EXPIRED';
  if (start > now) return 'UPCOMING';
  if (claimed < 100) return 'AVAILABLE';
  return (['WAITLIST', 'WAITLISTFULL', 'SOLDOUT'] as const)[hash('full', asin) % 3] ?? 'SOLDOUT';
}
