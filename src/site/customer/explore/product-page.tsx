import type { VNode } from 'preact';
import { PRODUCT_SERIES, productFormat } from '../../../charts/product-series.ts';
import { REPORT_SITES } from '../../../operations/brand-analytics/keywords.ts';
import { SITES } from '../../../operations/params/domain.ts';
import { fromKeepaMinutes } from '../../../operations/products/history.ts';
import type { Product } from '../../../operations/products/product.ts';
import { Facts } from '../../kit/elements.tsx';
import { type ChartSeries, TimeChart, valueText } from '../../kit/time-chart.tsx';
import { count } from '../../kit/words.tsx';
import { resultPath } from '../jobs.tsx';
import { CategoryPath } from './categories-page.tsx';
import {
  type ExplorePage,
  Picture,
  PRODUCT_PATH,
  type ShowContext,
  SITE_FIELD,
  siteOf,
  type View,
  viewOf,
} from './explore-view.tsx';
import {
  type KeywordsData,
  KeywordsTable,
  keywordRows,
  OffersTable,
  offerRows,
  VARIATIONS_SHOWN,
  type VariationsData,
  VariationsGrid,
  variationRows,
} from './product-parts.tsx';

export const productPage: ExplorePage = {
  path: PRODUCT_PATH,
  title: 'Product',
  lead: 'Prices, ranks, offers, variations and search terms of a product. Each part shows its price before it is fetched.',
  fields: [SITE_FIELD, ['asin', 'ASIN', { required: true, placeholder: 'B0C3CDEF01', maxLength: 20 }]],
  fieldOf: { asins: 'asin' },
  intro: 'Enter the ASIN of a product, such as B0C3CDEF01.',
  views: (values) => (values.asin === undefined ? null : viewsOf(siteOf(values), values.asin)),
};

function viewsOf(domain: number | string, asin: string): View[] {
  const site = { domain };
  const country = SITES[domain as keyof typeof SITES];
  return [
    viewOf<ProductData>({
      name: 'product',
      title: 'Prices and rank',
      button: 'Show the product',
      operation: 'market.product',
      parameters: {
        ...site,
        asins: [asin],
        detailLevel: 'full',
        stats: 90,
        rating: true,
        buybox: true,
        decode: true,
      },
      show: (data, context) => <ProductFacts data={data} context={context} />,
      rows: historyRows,
    }),
    viewOf<ProductData>({
      name: 'offers',
      title: 'Offers',
      button: 'Show the offers',
      operation: 'market.product',
      parameters: { ...site, asins: [asin], offers: 20, history: false, decode: true },
      show: (data) => <OffersTable data={data} />,
      rows: (data) => offerRows(data).map((row) => ({ ...row })),
    }),
    viewOf<VariationsData>({
      name: 'variations',
      title: 'Variations',
      button: 'Show the variations',
      operation: 'market.variations',
      parameters: { ...site, asin, detailLevel: 'summary', perPage: VARIATIONS_SHOWN },
      show: (data, context) => <VariationsGrid data={data} context={context} />,
      rows: variationRows,
    }),
    ...(country !== undefined && country in REPORT_SITES ? [keywordsView(asin, country)] : []),
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

function keywordsView(asin: string, country: string): View {
  return viewOf<KeywordsData>({
    name: 'terms',
    title: 'Search terms',
    button: 'Show the search terms',
    operation: 'aba.asinreverse',
    parameters: { asins: [asin], country, limit: 100 },
    show: (data) => <KeywordsTable data={data} />,
    rows: (data) => keywordRows(data).map((row) => ({ ...row })),
  });
}

/** The data of the product call. */
export interface ProductData {
  products: DecodedProduct[];
  errors: { asin: string; errorId: string }[];
}

/** An entry of the provider's list of the categories that contain a product, root first. */
interface TreeEntry {
  catId: number | bigint;
  name: string;
}

const RANGES = [
  [1, 'Day'],
  [7, 'Week'],
  [30, 'Month'],
  [90, '3 months'],
  [365, 'Year'],
] as const;

/** The product with its picture, current values and the chart of its history. */
function ProductFacts({ data, context }: { data: ProductData; context: ShowContext }): VNode {
  const [product] = data.products;
  if (!product)
    return <p class="empty">The provider has no data about this product: {data.errors[0]?.errorId}.</p>;
  const { asin, brand, parentAsin } = product;
  const path = Array.isArray(product.categoryTree) ? (product.categoryTree as TreeEntry[]) : [];
  const sold = product.monthlySold ?? 0;
  const history = historyOf(product);
  return (
    <>
      <div class="product-head">
        <Picture host={context.imageCdnUrl} name={pictureOf(product)} size={200} />
        <div>
          <h3>{product.title ?? product.asin}</h3>
          <Facts
            facts={[
              ['ASIN', <code>{asin}</code>],
              brand && ['Brand', brand],
              path.length > 0 && ['Category', <CategoryPath path={path} domain={product.domainId ?? 1} />],
              parentAsin && ['Parent', <code>{parentAsin}</code>],
              sold > 0 && ['Sold in a month', `at least ${count(sold)}`],
            ]}
          />
        </div>
      </div>
      <dl class="totals">
        {currentOf(product).map(({ name, value, format }) => (
          <div class="card" key={name}>
            <dt>{name}</dt>
            <dd class="price">{valueText(value, format)}</dd>
          </div>
        ))}
      </dl>
      {history.length > 0 ? (
        <TimeChart name="History" series={history} isStepped ranges={RANGES} rows="months" />
      ) : (
        <p class="empty">The provider has no history of this product.</p>
      )}
    </>
  );
}

/** One row for each change of a value. */
function historyRows({ products: [product] }: ProductData): Record<string, unknown>[] {
  if (!product) return [];
  return historyOf(product).flatMap(({ name, points }: ChartSeries) =>
    points.map(([at, value]) => ({
      asin: product.asin,
      series: name,
      time: new Date(at).toISOString(),
      value,
    })),
  );
}

function pictureOf({ images, imagesCSV }: DecodedProduct): string | null {
  const [first] = images ?? [];
  return first?.m ?? first?.l ?? imagesCSV?.split(',', 1)[0] ?? null;
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

/** The current values of a product by name; those without data are omitted. */
export function currentOf({
  statistics,
  domainId = 1,
}: DecodedProduct): { name: string; value: number; format: Intl.NumberFormatOptions }[] {
  return PRODUCT_SERIES.flatMap(({ series, name, scale }) => {
    const value = statistics?.current?.[series];
    return value === undefined ? [] : [{ name, value, format: productFormat(scale, domainId) }];
  });
}

/** A price with shipping is their sum. */
function pointsOf({ time = [], value, shipping }: Partial<DecodedSeries> = {}): [number, number | null][] {
  return time.map((at, i) => {
    const amount = value?.[i] ?? null;
    return [Date.parse(at), amount === null ? null : Math.round((amount + (shipping?.[i] ?? 0)) * 100) / 100];
  });
}
