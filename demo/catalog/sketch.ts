import { type AsinFacts, factsOf } from './asins.ts';
import { leafAt, pathOfLeaf } from './categories.ts';
import { pictureName } from './picture-names.ts';
import { hash, pick } from './random.ts';
import { type DemoSeries, isLowestEver, meanOver, seriesOf, valueAt, valueBefore } from './series.ts';

const DAY = 1440;

/** The product values that all lists need. */
export interface ProductSketch extends Label {
  asin: string;
  facts: AsinFacts;
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

const ADJECTIVES = [
  ...['Premium', 'Compact', 'Portable', 'Classic', 'Professional', 'Lightweight', 'Heavy Duty', 'Everyday'],
  ...['Deluxe', 'Eco'],
] as unknown as readonly [string, ...string[]];

/** The parts of the titles of films, series and books. */
const QUALITIES = ['Silent', 'Golden', 'Last', 'Crooked', 'Hidden', 'Paper', 'Midnight', 'Borrowed'] as const;
const SUBJECTS = [
  'Harbor',
  'Orchard',
  'Winter',
  'Lighthouse',
  'River',
  'Garden',
  'Letter',
  'Island',
] as const;

/** The texts of a product, which are the same on all sites. */
export interface Label {
  title: string;
  brand: string;
  /** How the product differs from the other members of its family, such as `Color: Black` and `Size: Large`. */
  attributes: { dimension: string; value: string }[];
  /** File name of the picture. */
  imageName: string;
}

export function labelOf(facts: AsinFacts): Label {
  const { asin, familySeed, leaf, kind, place } = facts;
  const { brands, looks, sizes, noun } = leafAt(leaf);
  const brand = pick(brands, 'brand', familySeed);
  const firstLook = hash('look', familySeed);
  const look = (firstLook + place) % looks.values.length;
  // Neighbours differ in the look, and each group of them in the size.
  const group = Math.floor(place / Math.min(3, looks.values.length));
  const size = sizes[(hash('size', familySeed) + group) % sizes.length] ?? '';
  const attributes = [
    { dimension: looks.dimension, value: looks.values[look] ?? '' },
    { dimension: 'Size', value: size },
  ];
  const base =
    looks.dimension === 'Format'
      ? `The ${pick(QUALITIES, 'quality', familySeed)} ${pick(SUBJECTS, 'subject', familySeed)}: ${noun} by ${brand}`
      : `${brand} ${pick(ADJECTIVES, 'adjective', familySeed)} ${noun}`;
  return {
    title: kind === 'parent' ? base : [base, ...attributes.map(({ value }) => value)].join(', '),
    brand,
    attributes,
    imageName: pictureName({ leaf, look, seed: hash('image', familySeed), variant: hash('image', asin) }),
  };
}

export function sketch(asin: string, domain: number): ProductSketch {
  const facts = factsOf(asin);
  // Created on demand, because lists do not need the series of most products.
  let all: Map<number, DemoSeries> | undefined;
  const seriesAt = (index: number) => {
    all ??= seriesOf(facts, domain);
    return all.get(index);
  };
  return {
    asin,
    facts,
    ...labelOf(facts),
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
