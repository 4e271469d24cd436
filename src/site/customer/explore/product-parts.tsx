import type { VNode } from 'preact';
import { fromKeepaMinutes } from '../../../operations/products/history.ts';
import type { Offer } from '../../../operations/products/product.ts';
import { priceFormat, priceOf } from '../../../operations/products/provider-fields.ts';
import { addressOf } from '../../kit/list-page.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { valueText } from '../../kit/time-chart.tsx';
import { count, counted, Dash, Time } from '../../kit/words.tsx';
import { Picture, PRODUCT_PATH, type ShowContext } from './explore-view.tsx';
import type { DecodedSeries, ProductData } from './product-page.tsx';

interface OfferRow {
  sellerId: string;
  condition: string;
  price: number | null;
  shipping: number | null;
  fulfilment: string;
  isLive: boolean;
  lastSeen: string | null;
}

const CONDITIONS = [
  'Unknown',
  'New',
  'Used, like new',
  'Used, very good',
  'Used, good',
  'Used, acceptable',
  'Refurbished',
  'Collectible, like new',
  'Collectible, very good',
  'Collectible, good',
  'Collectible, acceptable',
  'Rental',
];

/** The offers of a product: live ones in the order of the site's page, then those seen last. */
export function OffersTable({ data }: { data: ProductData }): VNode {
  const domain = data.products[0]?.domainId ?? 1;
  const format = priceFormat(domain);
  const columns: Column<OfferRow>[] = [
    ['Seller', ({ sellerId }) => <a href={sellerAddress(domain, sellerId)}>{sellerId}</a>, 'row'],
    ['Condition', ({ condition }) => condition],
    ['Price', ({ price }) => (price === null ? <Dash /> : valueText(price, format)), 'number'],
    ['Shipping', ({ shipping }) => (shipping === 0 ? 'free' : valueText(shipping, format)), 'number'],
    ['Fulfilment', ({ fulfilment }) => fulfilment],
    [
      'Last seen',
      ({ isLive, lastSeen }) => (isLive ? <span class="tag good">live</span> : <Time at={lastSeen} />),
    ],
  ];
  return <Table name="Offers" columns={columns} rows={offerRows(data)} empty="The product has no offers." />;
}

function sellerAddress(domain: number, seller: string): string {
  return addressOf('/explore/seller', { domain: String(domain), seller });
}

export function offerRows({ products: [product] }: ProductData): OfferRow[] {
  if (!product) return [];
  const { offers, liveOffersOrder } = product;
  const live = new Set(liveOffersOrder ?? []);
  return (offers ?? []).map((offer, i) => rowOf(offer, live.has(i)));
}

function rowOf(offer: Offer, isLive: boolean): OfferRow {
  const { sellerId, condition, lastSeen, isFBA } = offer;
  const { price } = (offer.history ?? {}) as { price?: DecodedSeries };
  return {
    sellerId: typeof sellerId === 'string' ? sellerId : '',
    condition: CONDITIONS[Number(condition ?? 0)] ?? 'Unknown',
    price: price?.value?.at(-1) ?? null,
    shipping: price?.shipping?.at(-1) ?? null,
    fulfilment: isFBA === true ? 'by the site' : 'by the seller',
    isLive,
    lastSeen: lastSeen === undefined ? null : new Date(fromKeepaMinutes(lastSeen)).toISOString(),
  };
}

/** The data of the variations call at the level `summary`. */
export interface VariationsData {
  domainId: number;
  variationsCount: number;
  isStandalone: boolean;
  variations: {
    asin: string;
    title: string | null;
    color: string | null;
    size: string | null;
    swatchImage: string | null;
    imagesCSV: string | null;
    stats: { price: number; bsr: number };
  }[];
}

/** The number of variations that the page asks for. */
export const VARIATIONS_SHOWN = 60;

/** The family of a product, with pictures. */
export function VariationsGrid({ data, context }: { data: VariationsData; context: ShowContext }): VNode {
  const { variations, variationsCount, isStandalone, domainId } = data;
  if (isStandalone) return <p class="empty">The product has no variations.</p>;
  return (
    <>
      <p>
        {counted(variationsCount, 'variation')}
        {variationsCount > variations.length && `; the first ${variations.length} are shown`}
      </p>
      <ul class="pictures">
        {variations.map(({ asin, color, size, swatchImage, imagesCSV, stats }) => (
          <li key={asin}>
            <a href={addressOf(PRODUCT_PATH, { domain: String(domainId), asin })}>
              <Picture
                host={context.imageCdnUrl}
                name={swatchImage ?? imagesCSV?.split(',', 1)[0]}
                size={120}
              />
              <strong>{[color, size].filter(Boolean).join(', ') || asin}</strong>
            </a>
            <span>{valueText(priceOf(stats.price, domainId), priceFormat(domainId))}</span>
            {stats.bsr > 0 && <small>Rank {count(stats.bsr)}</small>}
          </li>
        ))}
      </ul>
    </>
  );
}

export function variationRows({ variations, domainId }: VariationsData): Record<string, unknown>[] {
  return variations.map(({ asin, title, color, size, stats }) => ({
    asin,
    title,
    color,
    size,
    price: priceOf(stats.price, domainId),
    rank: stats.bsr > 0 ? stats.bsr : null,
  }));
}

/** Shares have the two decimals of the reports. */
export const PERCENT = {
  style: 'unit',
  unit: 'percent',
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
} as const;

export function percent(share: number | null): string {
  return valueText(share, PERCENT);
}
