import { type Domain, SITES } from '../params/domain.ts';

/** The hosts of the marketplaces, after `www.` or `m.`, by the site code. */
const HOSTS: Readonly<Record<(typeof SITES)[Domain], string>> = {
  us: 'amazon.com',
  uk: 'amazon.co.uk',
  de: 'amazon.de',
  fr: 'amazon.fr',
  jp: 'amazon.co.jp',
  ca: 'amazon.ca',
  it: 'amazon.it',
  es: 'amazon.es',
  in: 'amazon.in',
  mx: 'amazon.com.mx',
  br: 'amazon.com.br',
};

/** The parts of an address after which a product's ASIN stands. */
const BEFORE_ASIN = new Set(['dp', 'product', 'product-reviews', 'd', 'offer-listing', 'asin']);

/** Longer texts are no addresses of products. */
const LONGEST_CHARACTERS = 2_000;

/** A product that a text names. `domain`: null for a text that names no site. */
export interface NamedProduct {
  asin: string;
  domain: Domain | null;
}

/**
 * Returns the product that a pasted text names: an ASIN in either case, or the address of a product's page on one of the
 * marketplaces.
 */
export function productNamedBy(text: string): NamedProduct | null {
  const trimmed = text.trim();
  if (trimmed.length > LONGEST_CHARACTERS) return null;
  if (isAsin(trimmed)) return { asin: trimmed.toUpperCase(), domain: null };
  const url = URL.parse(/^https?:\/\//i.test(trimmed) ? trimmed : `https://${trimmed}`);
  const domain = url && siteOf(url.hostname);
  if (!url || !domain) return null;
  const parts = url.pathname.split('/');
  const at = parts.findIndex((part, i) => BEFORE_ASIN.has(part.toLowerCase()) && isAsin(parts[i + 1] ?? ''));
  const asin = at === -1 ? null : parts[at + 1];
  return asin ? { asin: asin.toUpperCase(), domain } : null;
}

/** ASINs that are not numbers of books begin with B. Any ten letters might be a word. */
function isAsin(text: string): boolean {
  return /^(?:B[A-Z0-9]{9}|\d{9}[\dX])$/i.test(text);
}

function siteOf(hostname: string): Domain | null {
  const host = hostname.toLowerCase().replace(/^(?:www|m|smile)\./, '');
  const found = Object.entries(SITES).find(([, code]) => HOSTS[code] === host);
  return found ? (Number(found[0]) as Domain) : null;
}
