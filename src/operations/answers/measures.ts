import { z } from 'zod';

/** Schemas of product values, in the units of the interface. The provider may omit any of them, or send null. */

/** A price in cents; for the site JP in whole yen. */
export function price(of: string) {
  return z.number().describe(`${of} in cents (for JP in whole yen); -1: no data`);
}

/** A time in the provider's index minutes. */
export function indexTime(of: string) {
  return z.number().describe(`${of}, in index minutes; Unix milliseconds are (t + 21564000) * 60000`);
}

export function stars(of: string) {
  return z.number().describe(`${of}, stars x 10 (45 means 4.5 stars); -1: no data`);
}

export function amount(of: string) {
  return z.number().describe(`${of}; -1: no data`);
}

export function words(of: string) {
  return z.string().describe(of);
}

/** Histories: one list for each type of value, with alternating index times and values. */
export function series(of: string) {
  return z.array(z.array(z.number()).nullable()).describe(of);
}

/** An id of the provider. Some ids exceed 2^53, so clients need a JSON parser that keeps large integers. */
export function largeId(of: string) {
  return z.number().meta({ type: 'integer', format: 'int64', description: `${of}; may exceed 2^53` });
}
