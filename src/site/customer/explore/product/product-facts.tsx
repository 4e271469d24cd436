import type { VNode } from 'preact';
import { Facts } from '../../../kit/facts.tsx';
import { type ChartSeries, TimeChart, valueText } from '../../../kit/time-chart.tsx';
import { count } from '../../../kit/words.tsx';
import { Picture } from '../picture.tsx';
import { CategoryPath } from '../search/category-path.tsx';
import type { ShowContext } from '../view.ts';
import { currentOf, type DecodedProduct, historyOf } from './history.ts';

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
export function ProductFacts({ data, context }: { data: ProductData; context: ShowContext }): VNode {
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
export function historyRows({ products: [product] }: ProductData): Record<string, unknown>[] {
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

export function pictureOf({ images, imagesCSV }: DecodedProduct): string | null {
  const [first] = images ?? [];
  return first?.m ?? first?.l ?? imagesCSV?.split(',', 1)[0] ?? null;
}
