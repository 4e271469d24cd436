import { z } from 'zod';
import { problem } from './scalars.ts';

/** The form of upstream's region codes: a country, a region of it (US-CA), or a metropolitan area (US-CA-807). */
const GEO_SHAPE = /^[A-Z]{2}(-[A-Z0-9]{1,3}(-\d{1,4})?)?$/;

/** Valid region codes that are not countries: groups of countries, parts of countries, placeholders. */
const NO_COUNTRIES = new Set('AC CP CQ DG EA EU EZ IC QO TA UN XA XB ZZ'.split(' '));

const NAMES = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

const REGION = 'a country such as US, or a region of a country such as US-CA';

/** Schema for the documentation: country codes, with or without a region. */
const DOCUMENTED = {
  pattern: '^[A-Za-z]{2}(?:-[A-Za-z0-9]{1,3}(?:-[0-9]{1,4})?)?$',
  maxLength: 11,
  examples: ['US', 'US-CA', 'DE'],
};

/** The region of searches. The empty text, which is the default, means worldwide. */
export function geoOrWorld() {
  const message = `must be ${REGION}, or empty for the whole world`;
  return geoText(message, (code) => code === '' || isGeo(code))
    .default('')
    .meta({
      description: 'Region code such as US or US-CA; empty: worldwide',
      ...DOCUMENTED,
      pattern: `^(?:${DOCUMENTED.pattern.slice(1, -1)})?$`,
    });
}

/** The region of trends, which upstream lists by country or region only. */
export function geoWithinWorld(fallback: string) {
  return geoText(`must be ${REGION}`, isGeo)
    .default(fallback)
    .meta({ description: 'Region code such as US or US-CA', ...DOCUMENTED });
}

function geoText(message: string, accepts: (code: string) => boolean) {
  // Some non-ASCII letters become two ASCII letters in upper case.
  const fault = problem(message);
  const ascii = z
    .string(fault)
    .trim()
    .regex(/^[\x20-\x7e]*$/, { ...fault, abort: true });
  return ascii.toUpperCase().refine(accepts, {
    error: ({ input }) => `${fault.error({ input })}${nearCode(input as string)}`,
  });
}

/** Returns the code that has replaced an old or alternative one of a country, such as GB for UK. */
function nearCode(code: string): string {
  if (!GEO_SHAPE.test(code)) return '';
  const near = `${new Intl.Locale(`und-${code.slice(0, 2)}`).region}${code.slice(2)}`;
  return near !== code && isGeo(near) ? `; did you mean ${near}?` : '';
}

function isGeo(code: string): boolean {
  return GEO_SHAPE.test(code) && isCountry(code.slice(0, 2));
}

/** Returns whether a code is the current code of a country. Upstream does not accept old or alternative ones, such as UK. */
function isCountry(code: string): boolean {
  return (
    NAMES.of(code) !== undefined && !NO_COUNTRIES.has(code) && new Intl.Locale(`und-${code}`).region === code
  );
}

const FAULT = problem('must be a language such as en-US, zh-CN or ja');

/** A language with optional script and region; es-419 is Latin American Spanish. */
const TAG_SHAPE = /^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|\d{3}))?$/;

/** Tags that mean no language, or several. */
const NO_LANGUAGES = new Set(['und', 'mul', 'mis', 'zxx']);

const LANGUAGES = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
const REGIONS = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

/** The language of names and words in an answer, in canonical spelling. */
export function language() {
  return z
    .string(FAULT)
    .trim()
    .refine(isLanguage, FAULT)
    .transform((tag) => new Intl.Locale(tag).toString())
    .default('en-US')
    .meta({
      description: 'Language code',
      pattern: '^[A-Za-z]{2,3}(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?$',
      maxLength: 12,
      examples: ['en-US', 'de', 'zh-CN'],
    });
}

function isLanguage(tag: string): boolean {
  if (!TAG_SHAPE.test(tag) || NO_LANGUAGES.has(tag.split('-')[0]?.toLowerCase() ?? '')) return false;
  const { language, region } = new Intl.Locale(tag);
  const hasRegion = region === undefined || (region !== 'ZZ' && REGIONS.of(region) !== undefined);
  return hasRegion && LANGUAGES.of(language) !== undefined;
}
