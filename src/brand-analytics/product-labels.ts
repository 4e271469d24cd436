import { REPORT_SITES, type ReportSite } from '../operations/brand-analytics/keywords.ts';
import { isRecord } from '../operations/params/request.ts';
import { DEMO } from '../operations/pools.ts';
import type { Product } from '../operations/products/product.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import type { Logger } from '../platform/log.ts';
import { writeBehind } from '../platform/write-behind.ts';
import type { KeepaTransport } from '../upstream/keepa/transport.ts';
import { asinToNumber } from './asin-number.ts';

/** Stores brand and category of the products that a worker fetches. */
interface ProductLabels {
  /** Returns a client that passes the products of its answers on. */
  learningFrom(keepa: KeepaTransport): KeepaTransport;
  close(): Promise<void>;
}

interface Labels {
  site: number;
  asin: number;
  brand: string | null;
  category: string | null;
}

/** The sites that have reports. */
const DOMAINS: ReadonlySet<number> = new Set(Object.values(REPORT_SITES).map(({ domain }) => domain));

/** Further products are not learned until the next write. */
const MOST_WAITING = 20_000;

/** A longer text is not a name. */
const LONGEST_NAME = 200;

/** @param provider the provider of product data. */
export function createProductLabels(
  database: Database,
  provider: string,
  clock: Clock,
  log: Logger,
): ProductLabels {
  const found = writeBehind<string, Labels>(clock, log, {
    what: 'product labels',
    everyMs: 5_000,
    most: MOST_WAITING,
    write(written) {
      const all = [...written.values()];
      const column = <Name extends keyof Labels>(name: Name) => all.map((labels) => labels[name]);
      return database.query(SAVE, [
        provider,
        column('site'),
        column('asin'),
        column('brand'),
        column('category'),
        new Date(clock.now()),
      ]);
    },
  });

  function learn(domain: number, products: readonly unknown[]): void {
    if (!DOMAINS.has(domain)) return;
    for (const product of products) {
      const labels = labelsOf(domain, product);
      if (labels) found.add(`${domain}/${labels.asin}`, labels);
    }
  }

  return {
    learningFrom: (keepa) => ({
      ...keepa,
      async json(call, context) {
        const envelope = await keepa.json(call, context);
        if (Array.isArray(envelope.products)) learn(Number(call.params.domain), envelope.products);
        return envelope;
      },
    }),
    close: found.close,
  };
}

/** Returns whether products of a provider may complete reports of another: invented products must not describe real ones. */
export function mayLabel(products: string, reports: string): boolean {
  return products !== DEMO || reports === DEMO;
}

/** A product's brand, and when it was learned. */
interface LearnedBrand {
  brand: string;
  learnedAt: Date;
}

/**
 * Returns the brands of the products that were looked up in this service, by ASIN. The schema is named, because connections for
 * test calls do not search it; no product of theirs is learned.
 */
export async function learnedBrands(
  database: Queryable,
  { site, provider }: { site: ReportSite; provider: string },
  asins: readonly number[],
): Promise<Map<number, LearnedBrand>> {
  const { rows } = await database.query<LearnedBrand & { asin: number }>({
    name: 'aba-learned-brands',
    text: `select asin, brand, learned_at as "learnedAt" from public.product_labels
      where site = $1 and asin = any($2::bigint[]) and provider = $3 and brand is not null`,
    values: [REPORT_SITES[site].domain, asins, provider],
  });
  return new Map(rows.map(({ asin, ...learned }) => [asin, learned]));
}

/** Rows that are the same and younger than a week stay as they are. */
const SAVE = `insert into product_labels as l (provider, site, asin, brand, category, learned_at)
  select $1, *, $6 from unnest($2::smallint[], $3::bigint[], $4::text[], $5::text[])
  on conflict (site, asin) do update set provider = excluded.provider, brand = excluded.brand,
    category = excluded.category, learned_at = excluded.learned_at
  where (l.provider, l.brand, l.category) is distinct from (excluded.provider, excluded.brand, excluded.category)
    or l.learned_at < excluded.learned_at - interval '7 days'`;

/** Returns null for a product without brand and category. */
function labelsOf(site: number, product: unknown): Labels | null {
  if (!isRecord(product) || typeof product.asin !== 'string' || !/^[A-Z0-9]{10}$/.test(product.asin))
    return null;
  const { asin, brand, categoryTree } = product as Product;
  const root: unknown = Array.isArray(categoryTree) ? categoryTree[0] : null;
  const labels = { brand: nameOf(brand), category: nameOf(isRecord(root) ? root.name : null) };
  if (labels.brand === null && labels.category === null) return null;
  return { site, asin: asinToNumber(asin), ...labels };
}

function nameOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const name = value.replaceAll(/\p{Cc}/gu, '').trim();
  return name === '' || name.length > LONGEST_NAME ? null : name;
}
