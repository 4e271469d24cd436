import { DAY } from '../minutes.ts';
import type { AsinFacts } from './asins.ts';
import { type Beat, beatOf, lastBeat, timeOf } from './beats.ts';
import { demandAt } from './categories.ts';
import { type Market, marketOf, priceAt, YEAR_MINUTES } from './market.ts';
import { curveAt, fractionOf, hash, plus, stateAfter } from './random.ts';

const MONTH = 30 * DAY;
/** The families are first seen after this index time. */
const FIRST_TRACKING = 5_400_000;

/** How often a product is bought and reviewed on a site. */
export interface Popularity {
  facts: AsinFacts;
  market: Market;
  /** Hash states of the family and the product. */
  family: number;
  own: number;
  baseRank: number;
  familySince: number;
  rating: number;
  reviewsAMonth: number;
  /** The times at which the histories of rank, reviews and monthly sales get an entry. */
  ranked: Beat;
  reviewed: Beat;
  counted: Beat;
}

/** Returns the index time at which the product was first seen, between 2021 and 2025. */
export function trackingSince({ asin, familySeed }: AsinFacts): number {
  return familySince(familySeed) + (hash('joined', asin) % (200 * DAY));
}

function familySince(familySeed: string): number {
  return FIRST_TRACKING + (hash('tracking', familySeed) % 2_000_000);
}

export function popularityOf(facts: AsinFacts, domain: number): Popularity {
  const { familySeed } = facts;
  const market = marketOf(facts, domain);
  const family = stateAfter('family', domain, familySeed);
  const own = plus(market.state, 110);
  // The products of a family sell about equally well.
  const baseRank = 50 * 8000 ** fractionOf(family) * (0.85 + 0.3 * fractionOf(own));
  return {
    facts,
    market,
    family,
    own,
    baseRank,
    familySince: familySince(familySeed),
    rating: 32 + (hash('rating', familySeed) % 17),
    reviewsAMonth: 0.3 + 0.03 * salesOf(50 * 8000 ** fractionOf(family)),
    ranked: beatOf(plus(own, 1), 1),
    reviewed: beatOf(plus(family, 2), 6),
    counted: beatOf(plus(own, 3), 20),
  };
}

/** Returns the rank in the root category that was noted last; it follows season, price and sales. */
export function rankAt({ market, family, own, baseRank, ranked }: Popularity, time: number): number {
  const minutes = timeOf(ranked, lastBeat(ranked, time));
  const slow =
    0.5 * curveAt(plus(family, 4), minutes / (80 * DAY)) +
    0.25 * curveAt(plus(family, 5), minutes / (12 * DAY));
  const fast = 0.12 * curveAt(plus(own, 6), minutes / (2 * DAY));
  // The rank gets worse from one sale to the next.
  const sales = beatOf(plus(own, 7), Math.min(9, 0.2 + baseRank / 8000));
  const waiting = (minutes - timeOf(sales, lastBeat(sales, minutes))) / sales.periodMinutes;
  const demand = demandAt(market.leaf.season, minutes / YEAR_MINUTES);
  const rank =
    baseRank * Math.exp(slow + fast) * (0.85 + 0.3 * waiting) * (priceLevel(market, minutes) ** 1.3 / demand);
  return Math.max(1, Math.round(rank));
}

/** Returns the best price of the main sellers, relative to the usual one. */
function priceLevel(market: Market, minutes: number): number {
  const prices = market.listings
    .slice(0, 2)
    .filter(({ condition }) => condition === 1)
    .map((listing) => priceAt(market, listing, minutes))
    .filter((price) => price > 0);
  return prices.length === 0 ? 1 : Math.min(...prices) / market.usualPrice;
}

/** Returns the number of ratings, which the products of a family share. */
export function reviewsAt(
  { market, family, familySince, reviewsAMonth, reviewed }: Popularity,
  minutes: number,
): number {
  const until = timeOf(reviewed, lastBeat(reviewed, minutes));
  let months = 0;
  for (let from = familySince, n = 0; from < until; from += MONTH, n += 1) {
    const share = Math.min(1, (until - from) / MONTH);
    const demand = demandAt(market.leaf.season, from / YEAR_MINUTES);
    months += share * demand * (0.4 + 1.2 * fractionOf(plus(plus(family, 8), n)));
  }
  return 1 + Math.floor(months * reviewsAMonth);
}

/** Returns the stars times ten. */
export function ratingAt({ family, rating, reviewed }: Popularity, minutes: number): number {
  return (
    rating +
    Math.round(1.2 * curveAt(plus(family, 9), timeOf(reviewed, lastBeat(reviewed, minutes)) / (150 * DAY)))
  );
}

/** Returns "bought in the past month" at a time, which has bands and exists only for products that sell. */
export function monthlySoldAt(popularity: Popularity, minutes: number): number | null {
  const { counted } = popularity;
  const rank = rankAt(popularity, timeOf(counted, lastBeat(counted, minutes)));
  if (rank > 100_000) return null;
  const sold = salesOf(rank);
  const band = 10 ** Math.max(1, Math.floor(Math.log10(sold)));
  return Math.max(50, Math.floor(sold / band) * band);
}

/** Returns the sales of a month. */
function salesOf(rank: number): number {
  return 200_000 / rank ** 0.8;
}
