import type { VNode } from 'preact';
import { PRODUCT_SERIES, productFormat } from '../../../charts/product-series.ts';
import { fromKeepaMinutes } from '../../../operations/products/history.ts';
import type { Product } from '../../../operations/products/product.ts';
import type { ResearchProductData } from '../../../operations/research/product.ts';
import { type ChartSeries, MONTHS, TimeChart } from '../../kit/time-chart.tsx';
import { resultPath } from '../job-page.tsx';
import { type ExplorePage, PRODUCT_PATH, SITE_FIELD, siteOf, type View, viewOf } from './explore-view.tsx';
import { withAsins } from './product-address.ts';
import { OffersTable, VARIATIONS_SHOWN, type VariationsData, VariationsGrid } from './product-parts.tsx';
import { ProductView, productSnapshot } from './product-view.tsx';

export const productPage: ExplorePage = {
  path: PRODUCT_PATH,
  title: 'Product',
  lead: 'Prices, sales rank, search terms and profit per sale of a product.',
  fields: [
    SITE_FIELD,
    ['asin', 'ASIN or address', { required: true, placeholder: 'B0C3CDEF01', maxLength: 2_000 }],
  ],
  fieldOf: { asins: 'asin' },
  scripts: ['profit.js'],
  intro: 'Enter the ASIN of a product, such as B0C3CDEF01, or paste the address of its page.',
  read: (values) => withAsins(values, 'asin'),
  views: (values) => (values.asin === undefined ? null : viewsOf(siteOf(values), values.asin)),
};

/** The days of the chart. */
const DAYS = 365;

function viewsOf(domain: number | string, asin: string): View[] {
  const site = { domain };
  return [
    viewOf<ResearchProductData>({
      name: 'product',
      title: 'Product',
      button: 'Show the product',
      operation: 'research.product',
      parameters: { ...site, asin, days: DAYS },
      show: (data, context) => <ProductView data={data} context={context} />,
      isEmpty: ({ product }) => product === null,
      snapshot: productSnapshot,
    }),
    viewOf<ProductData>({
      name: 'history',
      title: 'Complete history',
      button: 'Show the complete history',
      operation: 'market.product',
      table: 'history',
      parameters: {
        ...site,
        asins: [asin],
        detailLevel: 'full',
        stats: 90,
        rating: true,
        buybox: true,
        decode: true,
      },
      show: (data) => <History data={data} />,
    }),
    viewOf<ProductData>({
      name: 'offers',
      title: 'Offers',
      button: 'Show the offers',
      operation: 'market.product',
      table: 'offers',
      parameters: { ...site, asins: [asin], offers: 20, history: false, decode: true },
      show: (data) => <OffersTable data={data} />,
    }),
    viewOf<VariationsData>({
      name: 'variations',
      title: 'Variations',
      button: 'Show the variations',
      operation: 'market.variations',
      parameters: { ...site, asin, detailLevel: 'summary', perPage: VARIATIONS_SHOWN },
      show: (data, context) => <VariationsGrid data={data} context={context} />,
    }),
    {
      name: 'chart',
      title: 'Chart as a picture',
      button: 'Show the picture',
      operation: 'market.graphimage',
      parameters: { ...site, asin, range: 365, width: 1000, height: 500, salesrank: true },
      show: (_data, { jobId }) => (
        <img
          class="picture"
          src={resultPath(jobId)}
          alt="Chart of the prices of the last year"
          width={1000}
          height={500}
        />
      ),
    },
  ];
}

/** The data of the product call. */
export interface ProductData {
  products: DecodedProduct[];
  errors: { asin: string; errorId: string }[];
}

/** All series of the provider, with every change. */
function History({ data: { products } }: { data: ProductData }): VNode {
  const series = products[0] ? historyOf(products[0]) : [];
  return series.length > 0 ? (
    <TimeChart name="Complete history" series={series} isStepped {...MONTHS} rows="months" />
  ) : (
    <p class="empty">The provider has no history of this product.</p>
  );
}

/** A product of a call with `decode=1`. */
export interface DecodedProduct extends Product {
  history?: Record<string, DecodedSeries>;
  statistics?: { current?: Record<string, number> };
}

/** Lists of the same length. */
export interface DecodedSeries {
  /** ISO 8601. */
  time: string[];
  value?: (number | null)[];
  /** Shipping in addition to the price in `value`. */
  shipping?: (number | null)[];
}

/** The histories of a product. The last value holds until the provider's last update. Times are Unix milliseconds. */
export function historyOf({ history = {}, lastUpdate, domainId = 1 }: DecodedProduct): ChartSeries[] {
  const end = typeof lastUpdate === 'number' && lastUpdate > 0 ? fromKeepaMinutes(lastUpdate) : null;
  return PRODUCT_SERIES.flatMap(({ series, name, scale, shown = false }) => {
    const points = pointsOf(history[series]);
    const last = points.at(-1);
    if (!last || points.every(([, value]) => value === null)) return [];
    if (end !== null && end > last[0]) points.push([end, last[1]]);
    return [{ name, scale, format: productFormat(scale, domainId), points, shown }];
  });
}

/** A price with shipping is their sum. */
function pointsOf({ time = [], value, shipping }: Partial<DecodedSeries> = {}): [number, number | null][] {
  return time.map((at, i) => {
    const amount = value?.[i] ?? null;
    return [Date.parse(at), amount === null ? null : Math.round((amount + (shipping?.[i] ?? 0)) * 100) / 100];
  });
}
