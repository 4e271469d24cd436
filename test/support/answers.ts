import sharp from 'sharp';
import { onTestFinished } from 'vitest';
import { gate, type Script, type ScriptedUpstream } from './scripted-upstream.ts';

/** An upstream that has every ASIN, with these fields. */
export function everyProductWith(fields: (asin: string, i: number) => object): Script {
  return ({ params: { asin = '', domain } }) => {
    const common = { domainId: Number(domain), productType: 0, csv: [] };
    return {
      json: { products: asin.split(',').map((one, i) => ({ asin: one, ...common, ...fields(one, i) })) },
    };
  };
}

/** An upstream that has every ASIN. The products contain the parameters of the request. */
export const knowsEveryProduct = everyProductWith((asin) => ({ title: `Thing ${asin}` }));

/**
 * Lets the upstream answer requests for products only after the returned function was called, or the test has ended.
 * @param nth the first request that is held.
 */
export function holdProducts(upstream: ScriptedUpstream, nth = 1): () => void {
  const { reached, open } = gate();
  let requests = 0;
  upstream.on('product', async (...call) => {
    requests += 1;
    if (requests >= nth) await reached;
    return knowsEveryProduct(...call);
  });
  onTestFinished(open);
  return open;
}

/** An upstream that has one lightning deal for every ASIN, and a site's list of these. */
export function hasDeals(deals: readonly Record<string, unknown>[]): Script {
  return ({ params }) => ({
    json: { lightningDeals: deals.filter(({ asin }) => params.asin === undefined || asin === params.asin) },
  });
}

/** An upstream that draws a picture of the size asked for. */
export const drawsPictures: Script = async ({ params }) => ({
  raw: await picture(Number(params.width), Number(params.height)),
  contentType: 'image/png',
});

/** A PNG with something on it. */
export function picture(width: number, height: number): Promise<Buffer> {
  const bar = { create: { width: 40, height: 40, channels: 3, background: '#2266aa' } } as const;
  return sharp({ create: { width, height, channels: 3, background: '#ffeecc' } })
    .composite([{ input: bar, left: 10, top: 20 }])
    .png()
    .toBuffer();
}

let lastAsin = 0;

/** An ASIN that no other test of the file has asked for, so that no answer is taken from a cache. */
export function newAsin(): string {
  lastAsin += 1;
  return `B0NEW${String(lastAsin).padStart(5, '0')}`;
}
