import type { VNode } from 'preact';
import { priceFormat, priceOf } from '../../../../operations/products/site-prices.ts';
import { addressOf } from '../../../kit/paging.tsx';
import { valueText } from '../../../kit/time-chart.tsx';
import { count, counted } from '../../../kit/words.tsx';
import { Picture } from '../picture.tsx';
import type { ShowContext } from '../view.ts';

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
            <a href={addressOf('/explore/product', { domain: String(domainId), asin })}>
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
    ...{ asin, title, color, size },
    price: priceOf(stats.price, domainId),
    rank: stats.bsr > 0 ? stats.bsr : null,
  }));
}
