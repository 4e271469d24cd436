import { fraction, hash } from '../catalog/random.ts';
import { wordsOf } from '../words.ts';

interface DemoRegion {
  /** null for a city. */
  code: string | null;
  name: string;
  coordinates: { lat: number; lng: number } | null;
}

/** Names of the states of the United States by postal code. */
export const US_STATES: Record<string, string> = Object.fromEntries(
  wordsOf('us states').map((state) => [state.slice(0, 2), state.slice(3)]),
);

const PARTS = ['North', 'South', 'East', 'West', 'Centre', 'Coast', 'Highlands', 'Lakes', 'Islands'];

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('');
const NAMES = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
const COUNTRIES = LETTERS.flatMap((a) => LETTERS.map((b) => a + b)).filter(
  (code) => NAMES.of(code) !== undefined && !['EU', 'EZ', 'UK', 'UN', 'XA', 'XB', 'ZZ'].includes(code),
);

/** The countries with enough searches for a keyword. */
const MARKETS = new Set(wordsOf('search markets'));

/** Returns whether a country has enough searches for a keyword. */
export function isMarket(code: string | null): boolean {
  return code !== null && MARKETS.has(code);
}

/** Returns whether the demo knows a geo, which must not be empty. */
export function isKnownGeo(geo: string): boolean {
  const [country = '', region, metro] = geo.split('-');
  if (!COUNTRIES.includes(country)) return false;
  if (region === undefined) return true;
  if (country === 'US' && !Object.hasOwn(US_STATES, region)) return false;
  return /^[A-Z0-9]{1,3}$/.test(region) && (metro === undefined || /^\d{3}$/.test(metro));
}

/** Returns the default resolution of a map. */
export function ownResolution(geo: string): string {
  if (geo === '') return 'COUNTRY';
  const [country, region, metro] = geo.split('-');
  if (region === undefined) return 'REGION';
  return country === 'US' && metro === undefined ? 'DMA' : 'CITY';
}

/** Returns the regions of a map; null if the geo has none of this resolution. */
export function regionsOf(geo: string, resolution: string, hl: string): DemoRegion[] | null {
  const country = geo.slice(0, 2);
  if (resolution === 'CITY') return cities(geo === '' ? 'world' : geo);
  if (resolution === 'COUNTRY') return geo === '' ? countries(hl) : null;
  if (resolution === 'DMA') return country === 'US' ? metros(geo) : null;
  if (resolution !== 'REGION' || geo.includes('-')) return null;
  return geo === '' ? ['US', 'GB', 'JP'].flatMap((code) => subdivisions(code)) : subdivisions(geo);
}

function countries(hl: string): DemoRegion[] {
  const names = new Intl.DisplayNames([hl, 'en'], { type: 'region' });
  return COUNTRIES.map((code) => ({ code, name: names.of(code) ?? code, coordinates: null }));
}

function subdivisions(country: string): DemoRegion[] {
  if (country === 'US') {
    return Object.entries(US_STATES).map(([code, name]) => ({ code: `US-${code}`, name, coordinates: null }));
  }
  return PARTS.map((part, i) => ({
    code: `${country}-${String(i + 1).padStart(2, '0')}`,
    name: `${NAMES.of(country)}, ${part}`,
    coordinates: null,
  }));
}

const METROS_OF_STATE = 6;

function metros(geo: string): DemoRegion[] {
  const all = Object.keys(US_STATES);
  const states = geo === 'US' ? all : [geo.slice(3, 5)];
  return states.flatMap((state) =>
    Array.from({ length: geo === 'US' ? 2 : METROS_OF_STATE }, (_, i) => ({
      code: String(500 + all.indexOf(state) * METROS_OF_STATE + i),
      name: `${cityName(state, i)} ${state}`,
      coordinates: null,
    })),
  );
}

function cities(place: string): DemoRegion[] {
  return Array.from({ length: 40 }, (_, i) => ({
    code: null,
    name: cityName(place, i),
    coordinates: {
      lat: Math.round((fraction('lat', place, i) * 120 - 60) * 1e4) / 1e4,
      lng: Math.round((fraction('lng', place, i) * 360 - 180) * 1e4) / 1e4,
    },
  }));
}

const BEGINNINGS = ['Ash', 'Brook', 'Clear', 'Dun', 'East', 'Fair', 'Glen', 'Hart', 'King', 'Mill'];
const ENDINGS = ['ford', 'ton', 'field', 'bridge', 'port', 'wood', 'bury', 'haven'];

/** Returns a different name for each city of a place. */
function cityName(place: string, i: number): string {
  const n = hash('city', place) + i;
  return `${BEGINNINGS[n % BEGINNINGS.length]}${ENDINGS[Math.floor(n / BEGINNINGS.length) % ENDINGS.length]}`;
}
