import { existsSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { lightningdeal } from '../demo/endpoints/lightningdeal.ts';
import { toKeepaMinutes } from '../src/operations/products/history.ts';
import type { EncodedBody } from '../src/results/compression.ts';

/** The bodies of the provider's answers, after the token fields at their beginning. */
export type BodyName = 'small' | 'recorded' | 'lightning';

/** An answer body that is compressed once: only its beginning differs from answer to answer. */
type BodyAfter = (beginning: string) => EncodedBody;

/** Recorded answers of the provider, in the folder next to the checkout. */
const RECORDED = ['../shared', '../../shared'].map(
  (folder) => `${folder}/fixtures/keepa/product-us-full-buybox-rating-2026-05.json`,
);
/** The size of the recorded answer as the provider sends it. */
const RECORDED_BYTES = 207_000;

/** A full list of a site has about 15 MB. */
const LIGHTNING_DEALS = 24_000;

/** Prepares a body. A product begins with its ASIN, which the beginning contains: `... "products":[{"asin":"B000000000"`. */
export function prepareBody(name: BodyName): BodyAfter {
  const rest = { small: smallProduct, recorded: recordedProduct, lightning: lightningList }[name]();
  return packed(rest);
}

/** An answer is two gzip members, which clients of zlib read as one: its beginning, and the rest, compressed once. */
function packed(rest: string): BodyAfter {
  if (rest.length < SMALLEST_COMPRESSED) return (beginning) => plain(`${beginning}${rest}`);
  // Servers of providers compress at this level.
  const compressed = gzipSync(rest, { level: 6 });
  return (beginning) => ({ encoding: 'gzip', bytes: Buffer.concat([gzipSync(beginning), compressed]) });
}

const SMALLEST_COMPRESSED = 4096;

function plain(text: string): EncodedBody {
  return { encoding: 'identity', bytes: Buffer.from(text) };
}

function smallProduct(): string {
  return restOf({
    domainId: 1,
    title: 'A product that is answered immediately',
    brand: 'Bench',
    productType: 0,
    csv: [[7_000_000, 1999]],
  });
}

/** The recorded product, or where there are no recordings a product with histories of the same size. */
function recordedProduct(): string {
  const file = RECORDED.find((path) => existsSync(path));
  if (file === undefined) return restOf(generatedProduct());
  const { products } = JSON.parse(readFileSync(file, 'utf8')) as { products: [Record<string, unknown>] };
  const { asin: _, ...product } = products[0];
  return restOf(product);
}

function generatedProduct(): Record<string, unknown> {
  const SERIES = 36;
  const BYTES_PER_POINT = 13;
  const points = Math.floor(RECORDED_BYTES / SERIES / BYTES_PER_POINT);
  const series = (n: number) =>
    Array.from({ length: points }, (_, i) => [4_000_000 + 3_000 * i, 1_000 + ((i * 7 + n) % 8_999)]).flat();
  return {
    domainId: 1,
    title: 'A product with a long history',
    brand: 'Bench',
    productType: 0,
    csv: Array.from({ length: SERIES }, (_, n) => series(n)),
  };
}

/** Products were updated now, so that the parameter `update` of a call does not exclude them from the cache. */
function restOf(product: Record<string, unknown>): string {
  const lastUpdate = toKeepaMinutes(Date.now());
  return `,${JSON.stringify({ ...product, lastUpdate }).slice(1)}]}`;
}

/** A site's list, in which one integer has 16 digits. */
function lightningList(): string {
  const list = lightningdeal(LIGHTNING_DEALS)({
    params: { domain: '1' },
    body: null,
    now: 0,
    nowMinutes: 8_000_000,
  }) as { payloadText: string };
  return `,${list.payloadText.replace(/"totalReviews":\d+/, '"totalReviews":9007199254740993')}}`;
}
