import { z } from 'zod';
import type { Product } from '../products/product.ts';
import { currencyOf } from '../products/provider-fields.ts';
import type { Formulas } from './figures.ts';
import { currentOf, type SeriesName, seriesOf, shownIn } from './series.ts';

const PRICE = 'Lowest price of a new offer, in currency. Since February 2026 with shipping';

/** What the present values of a product mean, by their names. */
export const PRODUCT_FORMULAS = {
  price: ['products', PRICE],
  rating: ['products', 'Rating, 0 to 5 stars'],
  reviewCount: ['products', 'Number of reviews'],
  rank: ['products', 'Sales rank in the main category'],
  offers: ['products', 'Number of new offers'],
  monthlySold: [
    'products',
    "The provider's badge of units bought in the past month, which is a lower bound and no estimate",
  ],
} as const satisfies Formulas;

/** What the values of a day mean. */
export const DAY_FORMULAS = (['price', 'rank', 'offers', 'rating'] as const).map((name) => {
  const [source, formula] = PRODUCT_FORMULAS[name];
  return [
    name,
    [
      source,
      `${formula}, at the end of the day (UTC), or now for today. Without a change on a day, the last value before it counts`,
    ],
  ] as const;
});

const number = (name: keyof typeof PRODUCT_FORMULAS) =>
  z.number().nullable().describe(PRODUCT_FORMULAS[name][1]);

export const productFacts = {
  title: z.string().nullable(),
  brand: z.string().nullable(),
  price: number('price'),
  currency: z.string().describe('Currency of the site, such as USD'),
  rating: number('rating'),
  reviewCount: number('reviewCount'),
  rank: number('rank'),
  monthlySold: number('monthlySold'),
};

/** Returns the present values of a product; all unknown without one. @param now index minutes. */
export function factsOf(product: Product | undefined, domain: number, now: number) {
  const current = (name: SeriesName) => {
    const series = seriesOf(product, name, domain, now);
    return shownIn(series.unit, currentOf(series));
  };
  return {
    title: textOf(product?.title),
    brand: textOf(product?.brand),
    price: current('price'),
    currency: currencyOf(domain),
    rating: current('rating'),
    reviewCount: current('reviewCount'),
    rank: current('rank'),
    monthlySold: monthlySoldOf(product),
  };
}

/** Returns the badge of units bought in the past month; null without one. */
export function monthlySoldOf(product: Product | undefined): number | null {
  const sold = product?.monthlySold;
  return typeof sold === 'number' && sold >= 0 ? sold : null;
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
