import { z } from 'zod';

/** Values of product data in the units of the interface. The provider may leave any of them out, or send null. */

/** An amount in cents; for the site JP in whole yen. */
export function price(of: string) {
  return z.number().describe(`${of}: in cents, for JP in whole yen; -1: no data`);
}

/** A moment of the provider's index. */
export function indexTime(of: string) {
  return z.number().describe(`${of}: index time in minutes, Unix milliseconds are (t + 21564000) * 60000`);
}

export function stars(of: string) {
  return z.number().describe(`${of}: stars x 10, 45 are 4.5 stars; -1: no data`);
}

export function amount(of: string) {
  return z.number().describe(`${of}; -1: no data`);
}

export function words(of: string) {
  return z.string().describe(of);
}

/** Pairs or triples of index time and value, one list a kind of value. */
export function series(of: string) {
  return z.array(z.array(z.number()).nullable()).describe(of);
}

/** An id of the provider's. Some lie beyond 2^53: read them with a parser that keeps large integers. */
export function largeId(of: string) {
  return z.number().meta({ type: 'integer', format: 'int64', description: `${of}; may lie beyond 2^53` });
}
