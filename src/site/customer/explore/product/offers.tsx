import type { VNode } from 'preact';
import { fromKeepaMinutes } from '../../../../operations/products/keepa-time.ts';
import type { Offer } from '../../../../operations/products/product.ts';
import { priceFormat } from '../../../../operations/products/site-prices.ts';
import { addressOf } from '../../../kit/paging.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { valueText } from '../../../kit/time-chart.tsx';
import { Dash, Time } from '../../../kit/words.tsx';
import type { DecodedSeries } from './history.ts';
import type { ProductData } from './product-facts.tsx';

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
  ...['Unknown', 'New', 'Used, like new', 'Used, very good', 'Used, good', 'Used, acceptable', 'Refurbished'],
  ...[
    'Collectible, like new',
    'Collectible, very good',
    'Collectible, good',
    'Collectible, acceptable',
    'Rental',
  ],
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
