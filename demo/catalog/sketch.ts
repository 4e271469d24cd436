import { LRUCache } from 'lru-cache';
import { DAY } from '../minutes.ts';
import { pictureName } from '../pictures/drawing.ts';
import { wordsOf } from '../words.ts';
import { type AsinFacts, asinOfLeaf, factsOf } from './asins.ts';
import { LEAF_COUNT, leafAt, pathOfLeaf } from './categories.ts';
import { type Popularity, popularityOf, trackingSince } from './popularity.ts';
import { hash, pick } from './random.ts';
import { historyOf, valuesAt } from './series.ts';
import { mean, type Point, rankDropsOf, toPoints } from './stats.ts';

/** The longest part of a history that is read in one step to find an earlier value. */
const WINDOW = 90 * DAY;

/** The product values that all lists need. */
export interface ProductSketch extends Label {
  asin: string;
  facts: AsinFacts;
  readonly popularity: Popularity;
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
  /** Returns how often the rank became clearly better in the preceding days. */
  rankDrops(days: number, atMinutes: number): number;
  /** Returns whether the value is the highest so far. */
  isHighest(index: number, atMinutes: number): boolean;
}

const ADJECTIVES = wordsOf('title adjectives');

/** The parts of the titles of films, series and books. */
const QUALITIES = wordsOf('title qualities');
const SUBJECTS = wordsOf('title subjects');

/** The texts of a product, which are the same on all sites. */
interface Label {
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
  const since = trackingSince(facts);
  // Created on demand, because lists do not need the values of most products.
  let popularity: Popularity | undefined;
  let row: { at: number; values: number[] } | undefined;
  const points = (index: number, from: number, to: number): Point[] => {
    const { csv } = historyOf(product.popularity, Math.max(from, since), to, index);
    return toPoints(csv[index] ?? null, index);
  };
  /** Returns the newest point before a time that fits. */
  const newest = (index: number, at: number, fits: (value: number) => boolean): Point | undefined => {
    for (let to = at; to > since; to -= WINDOW) {
      const found = points(index, to - WINDOW, to).findLast(([, value]) => fits(value));
      if (found) return found;
    }
    return undefined;
  };
  const product: ProductSketch = {
    asin,
    facts,
    ...labelOf(facts),
    categoryIds: pathOfLeaf(facts.leaf).map(({ catId }) => catId),
    get popularity() {
      popularity ??= popularityOf(facts, domain);
      return popularity;
    },
    current(index, at) {
      if (row?.at !== at) row = { at, values: valuesAt(product.popularity, at) };
      return row.values[index] ?? -1;
    },
    previous: (index, at) => newest(index, at, (value) => value !== product.current(index, at))?.[1] ?? -1,
    average: (index, days, at) => mean(points(index, at - days * DAY, at), at - days * DAY, at),
    isLowest(index, at) {
      const present = product.current(index, at);
      return present >= 0 && !newest(index, at, (value) => value >= 0 && value < present);
    },
    isHighest(index, at) {
      const present = product.current(index, at);
      return present >= 0 && !newest(index, at, (value) => value > present);
    },
    rankDrops: (days, at) => rankDropsOf(points(3, at - days * DAY, at), at - days * DAY),
  };
  return product;
}

/** The products of the three sites that were requested most recently. */
const productsBySite = new LRUCache<number, ProductSketch[]>({ max: 3 });

/** Returns the products that finder and deals select from. They are kept, because every selection reads all of them. */
export function listedProducts(domain: number, count: number): ProductSketch[] {
  const products = productsBySite.get(domain) ?? [];
  productsBySite.set(domain, products);
  for (let i = products.length; i < count; i += 1)
    products.push(sketch(asinOfLeaf(i % LEAF_COUNT, Math.floor(i / LEAF_COUNT)), domain));
  return products.slice(0, count);
}
