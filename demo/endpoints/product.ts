import { DAY_MS } from '../../src/platform/durations.ts';
import { asinOfCode } from '../catalog/codes.ts';
import { type ProductRequest, productOf } from '../catalog/products.ts';
import {
  domainOf,
  type Endpoint,
  integerOf,
  invalidParameter,
  isOn,
  type Params,
  required,
} from '../protocol.ts';

const DAYS = { min: 1, max: 100_000 };

export const product: Endpoint = ({ params, nowMinutes }) => {
  const request = productRequest(params, nowMinutes);
  if (params.asin !== undefined && params.code !== undefined) throw invalidParameter();
  const asins = params.asin === undefined ? asinsOfCodes(required(params.code)) : splitAsins(params.asin);
  const update = integerOf(params.update, { min: -1, max: 100_000 });
  const products = asins
    .map((asin) => productOf(asin, request))
    .filter((found) => found !== null && !(update === -1 && found.productType === 4));
  const known = products.filter((found) => found?.productType !== 4);
  const tokens = known.reduce((sum, found) => sum + tokensOf(found?.offers, request, update), 0);
  return { payload: { products }, tokens };
};

/** Reads the options of a product call that other endpoints share. */
export function productRequest(params: Params, nowMinutes: number): ProductRequest {
  return {
    domain: domainOf(params),
    nowMinutes,
    statsDays: statsDays(params.stats),
    history: params.history === undefined || isOn(params.history),
    days: integerOf(params.days, DAYS),
    offers: integerOf(params.offers, { min: 20, max: 100 }) ?? 0,
    onlyLiveOffers: isOn(params['only-live-offers']),
    rating: isOn(params.rating),
    buybox: isOn(params.buybox),
    stock: isOn(params.stock),
    videos: isOn(params.videos),
    aplus: isOn(params.aplus),
    historicalVariations: isOn(params['historical-variations']),
  };
}

/** Parses days, or an interval of two dates or times, of which the demo uses only the length. */
function statsDays(stats: string | undefined): number | null {
  if (stats === undefined) return null;
  if (/^\d+$/.test(stats)) return integerOf(stats, DAYS);
  const [from, to] = stats.split(',').map((end) => (/^\d+$/.test(end) ? Number(end) : Date.parse(end)));
  if (from === undefined || to === undefined || !(to >= from)) throw invalidParameter();
  return Math.max(1, Math.round((to - from) / DAY_MS));
}

function splitAsins(asin: string): string[] {
  const asins = [...new Set(asin.split(','))];
  if (asins.length > 100 || asins.some((entry) => !/^[A-Z0-9]{10}$/.test(entry))) throw invalidParameter();
  return asins;
}

/** Returns the ASINs of the products with these codes. */
function asinsOfCodes(codes: string): string[] {
  const written = codes.split(',');
  if (written.length > 100) throw invalidParameter();
  return [...new Set(written.flatMap((code) => asinOfCode(code) ?? []))];
}

/** Returns the tokens of a call. An offers call costs tokens for each page of ten offers found. */
function tokensOf(found: unknown, { buybox, rating, stock }: ProductRequest, update: number | null): number {
  const offerCount = Array.isArray(found) ? found.length : 0;
  const extras = Number(rating) + (stock && offerCount > 0 ? 2 : 0) + Number(update === 0);
  return (offerCount > 0 ? 6 * Math.ceil(offerCount / 10) : 1 + (buybox ? 2 : 0)) + extras;
}
