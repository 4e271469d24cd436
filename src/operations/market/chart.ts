import { z } from 'zod';
import { fingerprint } from '../../platform/fingerprint.ts';
import { site } from '../answers.ts';
import { defineLocal, defineQueued, oneSource, type RawRequest } from '../define.ts';
import { DOMAIN_NAMES, domain } from '../params/domain.ts';
import { ASIN_SCHEMA, list, parseAsin, requiredAsin } from '../params/lists.ts';
import { request } from '../params/request.ts';
import { boolean, integer, problem } from '../params/scalars.ts';

const answer = z.object({
  ...site(),
  count: z.int().min(0),
  pluginDownloadUrl: z.url().describe('Address of the browser plugin'),
  notice: z.string().describe('Requirements for viewing the chart pages'),
  items: z.array(z.object({ asin: z.string(), url: z.url().describe('Address of the chart page') })),
});

export const chartUrl = defineLocal({
  name: 'market.charturl',
  summary: 'Returns links to price-chart pages.',
  tool: 'market_get_chart_url',
  toolset: 'visuals',
  routes: [{ method: 'GET', path: '/api/market/charturl' }],
  answer,
  records: { path: 'items' },
  params: request(
    { domain: DOMAIN_NAMES, asins: ['asin', 'asins'] },
    {
      domain: domain(),
      asins: list(
        { item: 'ASIN', max: 1000, schema: ASIN_SCHEMA, parse: parseAsin, sorted: false },
        '1-1000 ASINs, in asin and asins together; duplicates count once',
      ),
    },
  ),
});

/** The sizes that upstream draws, in pixels. Other values are clamped to this range. */
const WIDTH = { min: 300, max: 1000 };
const HEIGHT = { min: 150, max: 1000 };

/** The curves to draw. The defaults are upstream's. */
const curves = {
  retailer: curve("the retailer's own price", true),
  new: curve('the lowest new price', true),
  used: curve('the lowest used price', false),
  salesrank: curve('the sales rank', false),
  bb: curve('the Buy Box price', false),
  fba: curve('the lowest new price with fulfilment by the marketplace', false),
  fbm: curve('the lowest new price with fulfilment by the seller', false),
  ld: curve('lightning deals', false),
  wd: curve('the warehouse price', false),
};

const colours = {
  cbackground: colour('the background'),
  cfont: colour('the text'),
  cretailer: colour('the retailer curve'),
  cnew: colour('the new curve'),
  cused: colour('the used curve'),
  csales: colour('the salesrank curve'),
  cfba: colour('the fba curve'),
  cfbm: colour('the fbm curve'),
  cbb: colour('the bb curve'),
  cld: colour('the ld curve'),
  cwd: colour('the wd curve'),
};

const params = request(
  { domain: DOMAIN_NAMES, asin: ['asin'] },
  {
    domain: domain(),
    asin: requiredAsin(),
    range: integer({ min: 1, max: 10_000 }).default(90).describe('Days to show'),
    width: size(WIDTH, 500),
    height: size(HEIGHT, 200),
    yzoom: boolean().default(true).describe('Fit the vertical axis to the curves'),
    ...curves,
    ...colours,
    fields: z.never({ error: 'must not be sent: the answer is a picture' }).optional(),
  },
);

export type GraphImageInput = z.output<typeof params>;

export const graphImage = defineQueued<'market.graphimage', GraphImageInput, Buffer>({
  name: 'market.graphimage',
  summary: "Draws a product's price history as a PNG picture.",
  tool: 'market_get_price_chart',
  toolset: 'visuals',
  routes: [{ method: 'GET', path: '/api/market/graphimage', decode: inAnyCase }],
  params,
  price: { text: '1', quote: () => 1 },
  pools: ['graph'],
  source: (input) => oneSource(`graphimage/${fingerprint(input)}`),
  respond: { type: 'png' },
});

/** The canonical spelling of parameter names that have upper-case letters. */
const SPELLING = new Map(DOMAIN_NAMES.map((name) => [name.toLowerCase(), name]));

/** Reads parameters by name, ignoring case. A parameter in two spellings counts as given twice. */
function inAnyCase({ query }: RawRequest): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [sent, value] of Object.entries(query)) {
    const name = SPELLING.get(sent.toLowerCase()) ?? sent.toLowerCase();
    result[name] = name in result ? [result[name], value].flat() : value;
  }
  return result;
}

function size({ min, max }: { min: number; max: number }, fallback: number) {
  return integer({ min: 1 })
    .default(fallback)
    .transform((pixels) => Math.min(max, Math.max(min, pixels)))
    .describe(`Pixels; limited to ${min}-${max}`);
}

function curve(of: string, fallback: boolean) {
  return boolean().default(fallback).describe(`Draw ${of}`);
}

/** Six hex digits; a leading # is removed. */
function colour(of: string) {
  const fault = problem('must be 6 hex digits such as ff8800');
  return z
    .preprocess(
      (value) => (typeof value === 'string' ? value.trim().replace(/^#/, '').toLowerCase() : value),
      z.string(fault).regex(/^[0-9a-f]{6}$/, fault),
    )
    .optional()
    .meta({
      description: `Colour of ${of}, as 6 hex digits`,
      pattern: '^#?[0-9a-fA-F]{6}$',
      maxLength: 7,
      examples: ['ff8800'],
    });
}
