import { z } from 'zod';
import { REPORT_SITE_CODES } from '../brand-analytics/keywords.ts';
import { didYouMean } from '../faults.ts';
import { Fault, type Group, type GroupDocumentation, grouped } from './request.ts';
import { fromDigits, got, wordProblem } from './scalars.ts';

/** Site codes by the provider's domain number, which skips 7. */
export const SITES = {
  1: 'us',
  2: 'uk',
  3: 'de',
  4: 'fr',
  5: 'jp',
  6: 'ca',
  8: 'it',
  9: 'es',
  10: 'in',
  11: 'mx',
  12: 'br',
} as const;

export type Domain = keyof typeof SITES;

/** Parameter names for the site. All that a request contains must agree. */
export const DOMAIN_NAMES = ['domain', 'domainId', 'country'] as const;

const NUMBERS = Object.keys(SITES).join(', ');
const CODES = Object.values(SITES).join(', ');

const ANY_NAME = `is required: domain or domainId (one of ${NUMBERS}) or country (one of ${CODES})`;

/** Reads the site from `domainId` only. */
export function domainId() {
  return grouped<Domain>(
    (given) => siteIn(given, `is required: it must be one of ${NUMBERS}`),
    documentation([]),
  );
}

/** Reads the site from `domain`, `domainId` or `country`. */
export function domain() {
  return grouped<Domain>((given) => siteIn(given), documentation([]));
}

/** Reads the site for an operation that the provider does not offer on some sites. */
export function domainExcept(missing: readonly Domain[], reason: string) {
  return grouped<Domain>((given) => {
    const found = siteIn(given);
    return typeof found === 'number' && missing.includes(found)
      ? new Fault(`${found} (${SITES[found]}) ${reason}`)
      : found;
  }, documentation(missing));
}

function documentation(missing: readonly Domain[]): GroupDocumentation {
  const sites = Object.entries(SITES)
    .map(([number, code]) => ({ number: Number(number) as Domain, code }))
    .filter(({ number }) => !missing.includes(number));
  const table = sites.map(({ number, code }) => `${number} ${code}`).join(', ');
  return {
    description: `Site: ${table}`,
    required: true,
    schema: { type: 'integer', enum: sites.map(({ number }) => number), examples: [1] },
    forms: {
      country: {
        schema: { type: 'string', enum: sites.map(({ code }) => code), examples: ['us'] },
        description: 'Site code, in upper or lower case',
      },
    },
  };
}

/** Reads the site from the values under its names. */
export function siteIn(given: Group, missing = ANY_NAME): Domain | Fault {
  const sent = Object.entries(given);
  if (sent.length === 0) return new Fault(missing);
  const values = sent.map(([name, value]) => (name === 'country' ? fromCode(value) : fromNumber(value)));
  const fault = values.find((value) => value instanceof Fault);
  if (fault) return fault;
  const [first] = values as Domain[];
  if (first === undefined || values.some((value) => value !== first)) {
    return new Fault(`${sent.map(([name, value]) => `${name}=${String(value)}`).join(' and ')} do not agree`);
  }
  return first;
}

function fromNumber(value: unknown): Domain | Fault {
  if (Array.isArray(value)) return new Fault('was given more than once');
  const number = fromDigits(value);
  return typeof number === 'number' && Object.hasOwn(SITES, number)
    ? (number as Domain)
    : new Fault(got(`must be one of ${NUMBERS}`, value));
}

function fromCode(value: unknown): Domain | Fault {
  if (Array.isArray(value)) return new Fault('country was given more than once');
  const code = typeof value === 'string' ? value.trim().toLowerCase() : '';
  const found = Object.entries(SITES).find(([, known]) => known === code);
  if (found) return Number(found[0]) as Domain;
  const near = code === 'gb' ? '; did you mean uk?' : didYouMean(code, Object.values(SITES));
  return new Fault(`${got(`country must be one of ${CODES}`, value)}${near}`);
}

/** A site with brand analytics, by its code; case is ignored. */
export function reportSite() {
  return z.preprocess(
    (value) => (typeof value === 'string' ? value.trim().toLowerCase() : value),
    z.enum(REPORT_SITE_CODES, wordProblem(REPORT_SITE_CODES)),
  );
}
