import { z } from 'zod';
import { fingerprint } from '../../fingerprint.ts';
import { defineQueued, oneSource, type RawRequest } from '../define.ts';
import { requiredAsin } from '../params/asin.ts';
import { DOMAIN_NAMES, type Domain, domain } from '../params/domain.ts';
import { request } from '../params/request.ts';
import { boolean, integer, problem } from '../params/scalars.ts';

/** The sizes upstream draws, in pixels; what is asked beyond them is brought to the nearest. */
const WIDTH = { min: 300, max: 1000 };
const HEIGHT = { min: 150, max: 1000 };

/** Which curves are drawn. The defaults are upstream's own. */
const curves = {
  retailer: boolean().default(true),
  new: boolean().default(true),
  used: boolean().default(false),
  salesrank: boolean().default(false),
  bb: boolean().default(false),
  fba: boolean().default(false),
  fbm: boolean().default(false),
  ld: boolean().default(false),
  wd: boolean().default(false),
};

const colours = {
  cbackground: colour(),
  cfont: colour(),
  cretailer: colour(),
  cnew: colour(),
  cused: colour(),
  csales: colour(),
  cfba: colour(),
  cfbm: colour(),
  cbb: colour(),
  cld: colour(),
  cwd: colour(),
};

const params = request(
  { domain: DOMAIN_NAMES.map((name) => name.toLowerCase()), asin: ['asin'] },
  {
    domain: domain(),
    asin: requiredAsin(),
    range: integer({ min: 1, max: 10_000 }).default(90).describe('Days shown'),
    width: size(WIDTH, 500),
    height: size(HEIGHT, 200),
    yzoom: boolean().default(true).describe('Zoom the vertical axis to the curves'),
    ...curves,
    ...colours,
  },
);

export type GraphImageInput = z.output<typeof params> & { domain: Domain };

export const graphImage = defineQueued<'market.graphimage', GraphImageInput, Buffer>({
  name: 'market.graphimage',
  summary: "Draws a product's price history as a PNG picture.",
  routes: [{ method: 'GET', path: '/api/market/graphimage', decode: lowerCased }],
  params,
  price: { text: '1', quote: () => 1 },
  pools: ['graph'],
  queue: () => 'graph',
  source: (input) => oneSource(`graphimage/${fingerprint(input)}`),
  respond: { type: 'png' },
});

/** Parameter names in lower case. One sent in two spellings was sent twice. */
function lowerCased({ query }: RawRequest): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(query)) {
    const lower = name.toLowerCase();
    result[lower] = lower in result ? [result[lower], value].flat() : value;
  }
  return result;
}

function size({ min, max }: { min: number; max: number }, fallback: number) {
  return integer({ min: 1 })
    .default(fallback)
    .transform((pixels) => Math.min(max, Math.max(min, pixels)))
    .describe(`Pixels; brought to ${min}-${max}`);
}

/** Six hex digits; a leading # is dropped. */
function colour() {
  const message = 'must be 6 hex digits such as ff8800';
  return z
    .preprocess(
      (value) => (typeof value === 'string' ? value.trim().replace(/^#/, '').toLowerCase() : value),
      z.string(problem(message)).regex(/^[0-9a-f]{6}$/, message),
    )
    .optional()
    .describe('Colour, 6 hex digits');
}
