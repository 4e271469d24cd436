import { z } from 'zod';
import { problem } from './scalars.ts';

/** A region as upstream knows it: a country, one of its regions (US-CA), or a metropolitan area of that (US-CA-807). */
const SHAPE = /^[A-Z]{2}(-[A-Z0-9]{1,3}(-\d{1,4})?)?$/;

/** Codes that name something, but no country: groups of countries, parts of countries, placeholders. */
const NO_COUNTRIES = new Set('AC CP CQ DG EA EU EZ IC QO TA UN XA XB ZZ'.split(' '));

const NAMES = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

const REGION = 'a country such as US, or a region of one such as US-CA';

/** Countries by their codes, and whatever they call their regions. */
const DOCUMENTED = {
  pattern: '^[A-Za-z]{2}(?:-[A-Za-z0-9]{1,3}(?:-[0-9]{1,4})?)?$',
  maxLength: 11,
  examples: ['US', 'US-CA', 'DE'],
};

/** Where searches were made; the empty text, which is the default, is the whole world. */
export function geoOrWorld() {
  const message = `must be empty for the whole world, ${REGION}`;
  return geoText(message, (code) => code === '' || isGeo(code))
    .default('')
    .meta({
      description: 'Region code such as US or US-CA; empty: worldwide',
      ...DOCUMENTED,
      pattern: `^(?:${DOCUMENTED.pattern.slice(1, -1)})?$`,
    });
}

/** Where trends are listed, which upstream does by country or region only. */
export function geoWithinWorld(fallback: string) {
  return geoText(`must be ${REGION}`, isGeo)
    .default(fallback)
    .meta({ description: 'Region code such as US or US-CA', ...DOCUMENTED });
}

function geoText(message: string, accepts: (code: string) => boolean) {
  // Some letters beyond ASCII become two of it in capitals.
  const ascii = z
    .string(problem(message))
    .trim()
    .regex(/^[\x20-\x7e]*$/, { message, abort: true });
  return ascii.toUpperCase().refine(accepts, message);
}

function isGeo(code: string): boolean {
  return SHAPE.test(code) && isCountry(code.slice(0, 2));
}

/** Whether a code is the present one of a country; upstream does not know old ones and others, such as UK. */
function isCountry(code: string): boolean {
  return (
    NAMES.of(code) !== undefined && !NO_COUNTRIES.has(code) && new Intl.Locale(`und-${code}`).region === code
  );
}
