import type { VNode } from 'preact';
import { z } from 'zod';
import { offersOf, siteOf } from '../../../operations/products/product-tables.ts';
import { priceFormat, priceOf } from '../../../operations/products/provider-fields.ts';
import { addressOf } from '../../kit/list-page.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { valueText } from '../../kit/time-chart.tsx';
import { count, counted, Dash, Time } from '../../kit/words.tsx';
import { Picture, PRODUCT_PATH, type ShowContext } from './explore-view.tsx';
import type { ProductData } from './product-page.tsx';

/** What the page shows of the row of an offer, whose other fields are as the provider sent them. */
const offerRow = z.object({
  sellerId: z.string().catch(''),
  condition: z.string(),
  price: z.number().nullable().catch(null),
  shipping: z.number().nullable().catch(null),
  isFBA: z.boolean().catch(false),
  isLive: z.boolean(),
  lastSeen: z.string().nullable().catch(null),
});

type OfferRow = z.output<typeof offerRow>;

/** The offers of a product: live ones in the order of the site's page, then those seen last. */
export function OffersTable({ data }: { data: ProductData }): VNode {
  const domain = data.products[0]?.domainId ?? 1;
  const format = priceFormat(domain);
  const columns: Column<OfferRow>[] = [
    ['Seller', ({ sellerId }) => <a href={sellerAddress(domain, sellerId)}>{sellerId}</a>, 'row'],
    ['Condition', ({ condition }) => condition],
    ['Price', ({ price }) => (price == null ? <Dash /> : valueText(price, format)), 'number'],
    ['Shipping', ({ shipping }) => (shipping === 0 ? 'free' : valueText(shipping, format)), 'number'],
    ['Fulfilment', ({ isFBA }) => (isFBA ? 'by the site' : 'by the seller')],
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

function offerRows({ products: [product] }: ProductData): OfferRow[] {
  if (!product) return [];
  return [...offersOf(product, siteOf(product))].map((row) => offerRow.parse(row));
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
