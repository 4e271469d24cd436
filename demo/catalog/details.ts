import { DAY } from '../minutes.ts';
import { all } from '../words.ts';
import { asinOfLeaf, codesOf } from './asins.ts';
import { spanAt } from './beats.ts';
import { LEAF_COUNT, type Leaf, leafAt } from './categories.ts';
import { quotesAt } from './market.ts';
import { trackingSince } from './popularity.ts';
import type { ProductRequest } from './products.ts';
import { fraction, hash, pick } from './random.ts';
import type { ProductSketch } from './sketch.ts';

const AUTHORS = ['Avery Ashdown', 'Blake Birch', 'Casey Calloway', 'Devon Denby', 'Emery Ellery'] as const;
const MATERIALS = ['Plastic', 'Stainless Steel', 'Cotton', 'Wood', 'Aluminum', 'Glass'] as const;

/** Returns the fields that describe what is sold: codes, texts, sizes and classification. */
export function descriptionOf(product: ProductSketch): Record<string, unknown> {
  const { asin, title, brand, facts } = product;
  const { noun, path, looks, words, sizes } = leafAt(facts.leaf);
  const isParent = facts.kind === 'parent';
  const attribute = (dimension: string) =>
    isParent ? null : (product.attributes.find((one) => one.dimension === dimension)?.value ?? null);
  const isMedia = looks.dimension === 'Format';
  const isBook = path[0].name === 'Books';
  const model = modelOf(product);
  const material = isMedia ? null : pick(MATERIALS, 'material', facts.familySeed);
  const slug = title.replaceAll(/[^A-Za-z0-9]+/g, '-').slice(0, 60);
  return {
    type: noun.toUpperCase().replaceAll(' ', '_'),
    title,
    brand,
    manufacturer: brand,
    model,
    partNumber: model,
    productGroup: path[0].name,
    color: attribute('Color'),
    size: attribute('Size'),
    scent: attribute('Scent'),
    format: attribute('Format'),
    binding: attribute('Format'),
    edition: isBook ? attribute('Size') : null,
    urlSlug: slug,
    ...mediaFields(product, isMedia, isBook),
    ...codesOf(asin),
    features: [
      `${noun} for every day, made by ${brand}.`,
      ...product.attributes.map(({ dimension, value }) => `${dimension}: ${value}.`),
      `Available in ${looks.values.length} looks and ${sizes.length} sizes.`,
    ],
    description: `<p>The ${title} by ${brand}.</p>`,
    material,
    materials: material === null ? null : [material],
    includedComponents: noun,
    itemTypeKeyword: (words[0] ?? '').replaceAll(' ', '-'),
    targetAudienceKeyword: path[0].name === 'Baby' ? 'baby' : 'unisex-adult',
    websiteDisplayGroup: displayGroup(path[0].name),
    websiteDisplayGroupName: path[0].name,
    salesRankDisplayGroup: displayGroup(path[0].name),
    brandStoreName: brand,
    brandStoreUrl: `/stores/${slug.split('-')[0]}`,
    brandStoreUrlName: brand,
    ...measuresOf(asin),
  };
}

/** Returns the model number, which is the part number too; null for films, series and books. */
export function modelOf({ asin, brand, facts }: ProductSketch): string | null {
  if (leafAt(facts.leaf).looks.dimension === 'Format') return null;
  return `${brand.slice(0, 3).toUpperCase()}-${hash('model', asin) % 10_000}`;
}

function mediaFields(product: ProductSketch, isMedia: boolean, isBook: boolean): Record<string, unknown> {
  const { familySeed } = product.facts;
  const author = pick(AUTHORS, 'author', familySeed);
  const year = 1995 + (hash('year', familySeed) % 30);
  const released = isMedia ? year * 10_000 + 101 : -1;
  return {
    author: isBook ? author : null,
    contributors: isMedia ? [[author, isBook ? 'Author' : 'Director']] : null,
    languages: isMedia ? [['English', 'Original Language']] : null,
    numberOfPages: isBook ? 120 + (hash('pages', familySeed) % 500) : -1,
    publicationDate: isBook ? released : -1,
    releaseDate: released,
    audienceRating: isMedia && !isBook ? 'PG (Parental Guidance Suggested)' : null,
  };
}

function displayGroup(root: string): string {
  return `${root.toLowerCase().replaceAll(/[^a-z]+/g, '_')}_display_on_website`;
}

/** Millimetres and grams. The package is larger than the item. */
function measuresOf(asin: string): Record<string, unknown> {
  const height = 20 + (hash('height', asin) % 300);
  const length = 50 + (hash('length', asin) % 500);
  const width = 30 + (hash('width', asin) % 400);
  const weight = 50 + (hash('weight', asin) % 5000);
  return {
    packageHeight: height,
    packageLength: length,
    packageWidth: width,
    packageWeight: weight,
    itemHeight: height - 10,
    itemLength: length - 15,
    itemWidth: width - 10,
    itemWeight: weight - 30,
    packageQuantity: 1,
    numberOfItems: 1,
    unitCount: { unitValue: 1, unitType: 'Count' },
  };
}

/** Returns the fields about how the product is sold: fees, flags, coupons and what else is bought. */
export function saleOf(
  product: ProductSketch,
  { nowMinutes, history }: ProductRequest,
): Record<string, unknown> {
  const { asin, facts } = product;
  const today = nowMinutes - (nowMinutes % DAY);
  const since = trackingSince(facts);
  const price = product.current(1, nowMinutes);
  const hasCoupon = hash('coupon', asin) % 5 === 0;
  const isSns = hash('sns', facts.familySeed) % 4 === 0;
  // The promotion of the first offer, if it is live.
  const { market } = product.popularity;
  const [offer] = quotesAt(market, nowMinutes);
  const isBestDeal =
    offer !== undefined && offer.listing.id === 1 && spanAt(offer.listing.promotions, nowMinutes) >= 0;
  return {
    ...all('products have no', null),
    ...all('products are not', false),
    ...all('products are', true),
    ...all('products have zero', 0),
    isSNS: isSns,
    returnRate: hash('returns', asin) % 9 === 0 ? 2 : null,
    g: hash('g', asin) % 10_000,
    availabilityAmazon: product.current(0, nowMinutes) > 0 ? 0 : -1,
    fbaFees: { lastUpdate: today, pickAndPackFee: 250 + (hash('fee', asin) % 600) },
    referralFeePercent: 15,
    referralFeePercentage: 15.01,
    competitivePriceThreshold: Math.round(price * 1.05),
    coupon: hasCoupon ? [-5, 0] : null,
    couponHistory: history ? [since, 0, 0, ...(hasCoupon ? [today - 10 * DAY, -5, 0] : [])] : null,
    promotions: isSns
      ? [{ type: 'SNS', amount: Math.round(price * 0.95), discountPercent: 5, snsBulkDiscountPercent: null }]
      : null,
    deals: isBestDeal
      ? [{ accessType: 'ALL', badge: 'Limited time deal', dealType: 'LIMITED_TIME_DEAL' }]
      : null,
    frequentlyBoughtTogether: boughtWith(facts.leaf, asin),
    lastSoldUpdate: today,
    parentAsinHistory: facts.family && history ? [String(since), facts.family.parent] : null,
  };
}

/** Two products of neighbouring leaves. */
function boughtWith(leaf: number, asin: string): string[] {
  const neighbours = [leaf, leaf ^ 1].map((near) => Math.min(near, LEAF_COUNT - 1));
  return neighbours.map((near, i) => asinOfLeaf(near, hash('with', asin, i) % 60));
}

/** Returns the videos of a product. */
export function videosOf({ asin, title, brand, imageName }: ProductSketch): Record<string, unknown>[] {
  return Array.from({ length: hash('videos', asin) % 3 }, (_, i) => ({
    title: `${title}, part ${i + 1}`,
    image: imageName,
    name: brand,
    duration: 20 + (hash('duration', asin, i) % 100),
    creator: i === 0 ? 'Main' : 'Vendor',
    url: `https://videos.example.com/${asin}/${i}.m3u8`,
  }));
}

/** Returns the manufacturer's pages about a product. */
export function aPlusOf(product: ProductSketch, { noun }: Leaf): Record<string, unknown>[] {
  if (fraction('aplus', product.facts.familySeed) < 0.4) return [];
  const text = [`${product.brand} makes this ${noun.toLowerCase()} to last.`];
  return [
    { fromManufacturer: true, module: [{ text, image: [product.imageName], imageAltText: [product.title] }] },
  ];
}
