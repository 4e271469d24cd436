import { type AsinFacts, factsOf } from './asins.ts';
import { nounOfLeaf, pathOfLeaf } from './categories.ts';
import { hash, pick } from './random.ts';
import { type DemoSeries, isLowestEver, meanOver, seriesOf, valueAt, valueBefore } from './series.ts';

const DAY = 1440;

/** The product values that all lists need. */
export interface ProductSketch {
  asin: string;
  facts: AsinFacts;
  title: string;
  brand: string;
  imageName: string;
  color: string;
  size: string;
  /** Root first. */
  categoryIds: number[];
  /** Returns the value of a csv series at a time; -1 means no value. */
  current(index: number, atMinutes: number): number;
  /** Returns the previous value. */
  previous(index: number, atMinutes: number): number;
  /** Returns the mean over the preceding days. */
  average(index: number, days: number, atMinutes: number): number;
  /** Returns whether the value is the lowest so far. */
  isLowest(index: number, atMinutes: number): boolean;
}

const BRANDS = [
  'Acme',
  'Globex',
  'Initech',
  'Umbra',
  'Nordwell',
  'Kestrel',
  'Halden',
  'Sunrise',
  'Ferrum',
  'Lumio',
  'Pinecrest',
  'Vantor',
] as const;
const ADJECTIVES = [
  'Premium',
  'Compact',
  'Portable',
  'Classic',
  'Professional',
  'Lightweight',
  'Heavy Duty',
  'Everyday',
  'Deluxe',
  'Eco',
] as const;
const COLORS = ['Black', 'White', 'Blue', 'Red', 'Green', 'Grey', 'Beige', 'Pink', 'Silver'] as const;
const SIZES = ['Small', 'Medium', 'Large', 'X-Large', '2 Pack', '3 Pack', '6 Pack'] as const;

/** Returns the texts of a product, which are the same on all sites. */
export function labelOf(facts: AsinFacts): { title: string; brand: string; color: string; size: string } {
  const { asin, familySeed, leaf, kind } = facts;
  const brand = pick(BRANDS, 'brand', familySeed);
  const color = pick(COLORS, 'color', asin);
  const size = pick(SIZES, 'size', asin);
  const base = `${brand} ${pick(ADJECTIVES, 'adjective', familySeed)} ${nounOfLeaf(leaf)}`;
  return { title: kind === 'parent' ? base : `${base}, ${color}, ${size}`, brand, color, size };
}

export function sketch(asin: string, domain: number): ProductSketch {
  const facts = factsOf(asin);
  // Created on demand, because lists do not need the series of most products.
  let all: Map<number, DemoSeries> | undefined;
  const seriesAt = (index: number) => {
    all ??= seriesOf(facts, domain);
    return all.get(index);
  };
  const { title, brand, color, size } = labelOf(facts);
  return {
    asin,
    facts,
    brand,
    color,
    size,
    title,
    imageName: `${hash('image', asin).toString(36).toUpperCase().padStart(7, '0')}L.jpg`,
    categoryIds: pathOfLeaf(facts.leaf).map(({ catId }) => catId),
    current: (index, atMinutes) => {
      const found = seriesAt(index);
      return found ? valueAt(found, facts, index, atMinutes) : -1;
    },
    previous: (index, atMinutes) => {
      const found = seriesAt(index);
      return found ? valueBefore(found, facts, index, atMinutes) : -1;
    },
    average: (index, days, atMinutes) => {
      const found = seriesAt(index);
      const span = { from: atMinutes - days * DAY, to: atMinutes };
      return found ? meanOver(found, facts, index, span) : -1;
    },
    isLowest: (index, atMinutes) => {
      const found = seriesAt(index);
      return found ? isLowestEver(found, facts, index, atMinutes) : false;
    },
  };
}
