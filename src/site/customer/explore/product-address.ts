import { REPORT_SITES } from '../../../operations/brand-analytics/keywords.ts';
import { SITES } from '../../../operations/params/domain.ts';
import type { FormValues } from '../../kit/form-request.ts';

/** The sites by the end of their host. */
const SITE_OF_HOST: Readonly<Record<string, number>> = {
  ...Object.fromEntries(Object.values(REPORT_SITES).map(({ tld, domain }) => [tld, domain])),
  in: 10,
  'com.br': 12,
};

/** A product that somebody has written or pasted. */
interface WrittenProduct {
  /** The ASIN, or the text as it is, which the API refuses with a reason. */
  asin: string;
  /** The number of the site in a pasted address; null: not written. */
  domain: number | null;
}

/** Longer addresses are not read. */
const MOST_CHARACTERS = 2_000;

const ADDRESS = /^(?:https?:\/\/)?(?:[a-z\d-]+\.)*amazon\.([a-z]{2,3}(?:\.[a-z]{2})?)(?::\d+)?(\/[^?#]*)/i;

const IN_PATH = /\/(?:dp|gp\/product|gp\/aw\/d|gp\/offer-listing|product-reviews)\/([a-z\d]{10})(?:\/|$)/i;

/** Reads an ASIN in either case, or the address of a product page. */
export function readProduct(text: string): WrittenProduct {
  const asin = text.trim();
  const [, host = '', path = ''] = asin.length > MOST_CHARACTERS ? [] : (ADDRESS.exec(asin) ?? []);
  const [, found] = IN_PATH.exec(path) ?? [];
  if (found === undefined) return { asin, domain: null };
  return { asin: found.toUpperCase(), domain: SITE_OF_HOST[host.toLowerCase()] ?? null };
}

/** Reads products that are separated by blanks, lines, commas or semicolons. */
export function readProducts(text: string): WrittenProduct[] {
  return text
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map(readProduct);
}

/** Replaces pasted addresses in a field by ASINs. The first address with a site sets the field of the site. */
export function withAsins(values: FormValues, field: string): FormValues {
  const products = readProducts(values[field] ?? '');
  if (products.length === 0) return values;
  const domain = products.find((one) => one.domain !== null)?.domain;
  return {
    ...values,
    ...(domain !== undefined && domain !== null && domain in SITES ? { domain: String(domain) } : {}),
    [field]: products.map(({ asin }) => asin).join(' '),
  };
}
