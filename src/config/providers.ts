import { DEMO, type Providers } from '../operations/pools.ts';
import type { Config } from './config.ts';

const AMAZON = 'amazon';

/** Returns the names of the configured providers: their addresses, or `demo`. */
export function providersOf({
  DEMO_DATA,
  KEEPA_BASE_URL,
  TRENDS_BASE_URL,
  SP_API_BASE_URL,
}: Pick<Config, 'DEMO_DATA' | 'KEEPA_BASE_URL' | 'TRENDS_BASE_URL' | 'SP_API_BASE_URL'>): Providers {
  const named = (kind: keyof Providers, name: string) => (DEMO_DATA.includes(kind) ? DEMO : name);
  return {
    products: named('products', nameOf(KEEPA_BASE_URL)),
    trends: named('trends', nameOf(TRENDS_BASE_URL)),
    reports: named('reports', SP_API_BASE_URL === undefined ? AMAZON : nameOf(SP_API_BASE_URL)),
  };
}

/** Returns whether gateways serve the pictures of the demo provider; otherwise browsers load pictures from `IMAGE_CDN_URL`. */
export function hasDemoPictures({
  DEMO_DATA,
  KEEPA_BASE_URL,
  IMAGE_CDN_URL,
}: Pick<Config, 'DEMO_DATA' | 'KEEPA_BASE_URL' | 'IMAGE_CDN_URL'>): boolean {
  return DEMO_DATA.includes('products') && IMAGE_CDN_URL === KEEPA_BASE_URL;
}

/** Returns an address without user and password, which may change. */
function nameOf(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${pathname}`.replace(/\/+$/, '');
}
