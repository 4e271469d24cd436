import { decodedRow } from './decode-product.ts';
import { type DetailLevel, namedStats } from './detail-level.ts';
import type { Member } from './family.ts';
import type { Product } from './product.ts';

/**
 * Returns a family member at a detail level: `summary` has selected fields with named statistics, `lite` omits the price
 * history and keeps only the latest review counts, `full` is the product as upstream sends it.
 * @param product undefined when upstream has no data for the member; then only the family's fields are returned.
 */
export function variationRecord(
  member: Member,
  product: Product | undefined,
  parentAsin: string | null,
  level: DetailLevel,
): Record<string, unknown> {
  const source = product ?? { asin: member.asin };
  const described = {
    asin: member.asin,
    title: source.title ?? null,
    color: source.color ?? attribute(member, 'color'),
    size: source.size ?? attribute(member, 'size'),
    swatchImage: member.image ?? null,
    imagesCSV: source.imagesCSV ?? imagesCsv(source),
    monthlySold: source.monthlySold ?? -1,
    parentAsin: source.parentAsin ?? parentAsin,
    lastUpdate: source.lastUpdate ?? -1,
  };
  if (level === 'summary') return { ...described, stats: namedStats(source), ...codes(source) };
  const {
    upcList: _,
    eanList: __,
    gtinList: ___,
    ...rest
  } = level === 'lite' ? latestReviews(source) : source;
  return { ...rest, ...described, ...codes(source) };
}

/** Returns a member of an answer, at any level, as a flat row. */
export function variationRow(record: Product): Record<string, unknown> {
  const decoded = decodedRow(record);
  if (decoded) return decoded;
  const named = Array.isArray(record.stats?.current) ? namedStats(record) : record.stats;
  return { ...record, ...named };
}

/** Returns the product codes of members that have any. */
function codes(product: Product): Record<string, unknown> {
  const { upcList, eanList, gtinList } = product;
  return Object.fromEntries(
    Object.entries({ upcList, eanList, gtinList }).filter(
      ([, list]) => Array.isArray(list) && list.length > 0,
    ),
  );
}

/** Returns the product without its price history, and with only the last point of its two review series. */
function latestReviews(product: Product): Product {
  const { csv: _, ...rest } = product;
  if (!rest.reviews) return rest;
  const reviews = { ...rest.reviews };
  for (const field of ['ratingCount', 'reviewCount']) {
    const series = reviews[field];
    if (Array.isArray(series)) reviews[field] = series.slice(-2);
  }
  return { ...rest, reviews };
}

function imagesCsv({ images }: Product): string | null {
  const names = (images ?? []).flatMap(({ l, m }) => l ?? m ?? []);
  return names.length > 0 ? names.join(',') : null;
}

function attribute({ attributes }: Member, wanted: string): string | null {
  const found = attributes.find(({ dimension = '' }) => dimension.toLowerCase().startsWith(wanted));
  return found?.value ?? null;
}
