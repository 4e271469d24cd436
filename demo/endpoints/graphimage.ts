import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import stringify from 'safe-stable-stringify';
import { trackingSince } from '../catalog/popularity.ts';
import { historyOf } from '../catalog/series.ts';
import { sketch } from '../catalog/sketch.ts';
import { type Point, toPoints } from '../catalog/stats.ts';
import { DAY } from '../minutes.ts';
import {
  domainOf,
  type Endpoint,
  type EndpointRequest,
  integerOf,
  invalidParameter,
  isOn,
  type Params,
} from '../protocol.ts';

const FREE_FOR_MS = 90 * 60_000;
const COLOUR_PARAMETER = /^c[A-Z]/;

/** The curves: parameter, series, colour and its parameter, and whether it is shown by default. */
const CURVES = [
  ['amazon', 0, 'FFA500', 'cAmazon', true],
  ['new', 1, '8888dd', 'cNew', true],
  ['used', 2, '444444', 'cUsed', false],
  ['salesrank', 3, '3a883a', 'cSales', false],
  ['fba', 10, 'ff5722', 'cFBA', false],
  ['fbm', 7, '039BE5', 'cFBM', false],
  ['bb', 18, 'ff00b4', 'cBB', false],
] as const;

/** Draws a price-history chart of the data that /product returns. */
export function graphimage(): Endpoint {
  // Repeated requests for the same picture are free for a while.
  const paid = new Map<string, number>();
  return async (request) => {
    const { key: _, ...asked } = request.params;
    const identity = stringify(asked);
    const picture = await draw(request);
    const isFree = request.now < (paid.get(identity) ?? 0) + FREE_FOR_MS;
    if (!isFree) paid.set(identity, request.now);
    return { picture, tokens: isFree ? 0 : 1 };
  };
}

async function draw({ params, nowMinutes }: EndpointRequest): Promise<Buffer> {
  const domain = domainOf(params);
  const { asin = '' } = params;
  if (!/^[A-Z0-9]{10}$/.test(asin)) throw invalidParameter();
  const size = {
    width: integerOf(params.width, { min: 300, max: 1000 }) ?? 500,
    height: integerOf(params.height, { min: 150, max: 1000 }) ?? 200,
  };
  for (const [name, value] of Object.entries(params)) {
    if (COLOUR_PARAMETER.test(name) && !/^[0-9a-fA-F]{6}$/.test(value ?? '')) throw invalidParameter();
  }
  const days = integerOf(params.range, { min: 1, max: 10_000 }) ?? 90;
  const svg = chart(asin, domain, params, size, nowMinutes - days * DAY, nowMinutes);
  const sharp = await loadSharp();
  return sharp(Buffer.from(svg)).png().toBuffer();
}

function chart(
  asin: string,
  domain: number,
  params: Params,
  { width, height }: { width: number; height: number },
  from: number,
  to: number,
): string {
  const product = sketch(asin, domain);
  const isProduct = product.facts.kind === 'product';
  const begin = Math.max(from, trackingSince(product.facts));
  const csv = isProduct ? historyOf(product.popularity, begin, to).csv : [];
  const margin = { left: 52, right: 12, top: 24, bottom: 22 };
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
  const drawn = CURVES.filter(([parameter, , , , isDefault]) =>
    params[parameter] === undefined ? isDefault : isOn(params[parameter]),
  )
    .map(([, series, colour, colourParameter]) => {
      const points = stepsOf(toPoints(csv[series] ?? null, series), to);
      return { series, colour: params[colourParameter] ?? colour, points };
    })
    .filter(({ points }) => points.length > 0);
  const prices = drawn
    .filter(({ series }) => series !== 3)
    .flatMap(({ points }) => points.map(([, value]) => value));
  const low = isOn(params.yzoom ?? '1') && prices.length > 0 ? Math.min(...prices) * 0.95 : 0;
  const high = Math.max(...prices, 1) * 1.05;
  const x = (time: number) => margin.left + ((time - from) / (to - from)) * inner.width;
  const yOf = (value: number, min: number, max: number) =>
    margin.top + inner.height * (1 - (value - min) / Math.max(1, max - min));
  const lines = drawn.map(({ points, series, colour }) => {
    const values = points.map(([, value]) => value);
    const [min, max] = series === 3 ? [0, Math.max(...values) * 1.1] : [low, high];
    // Each value has two corners; a new line begins after a time without a value.
    const isBreak = (i: number) => i % 2 === 0 && points[i - 1]?.[0] !== points[i]?.[0];
    const path = points.map(
      ([time, value], i) =>
        `${isBreak(i) ? 'M' : 'L'}${x(time).toFixed(1)} ${yOf(value, min, max).toFixed(1)}`,
    );
    return `<path d="${path.join('')}" fill="none" stroke="#${colour}" stroke-width="1.5"/>`;
  });
  const font = params.cFont ?? '444444';
  const label = (text: string, at: { x: number; y: number }, anchor: 'start' | 'end' | 'middle') =>
    `<text x="${at.x}" y="${at.y}" font-family="DejaVu Sans, sans-serif" font-size="10" fill="#${font}" text-anchor="${anchor}">${text}</text>`;
  const grid = [0, 0.5, 1].map((share) => {
    const y = margin.top + inner.height * share;
    const price = high - (high - low) * share;
    return `<line x1="${margin.left}" x2="${width - margin.right}" y1="${y}" y2="${y}" stroke="#dddddd"/>${label((price / 100).toFixed(2), { x: margin.left - 4, y: y + 3 }, 'end')}`;
  });
  const dates = [0, 0.5, 1].map((share) =>
    label(
      new Date((from + (to - from) * share + 21_564_000) * 60_000).toISOString().slice(0, 10),
      { x: margin.left + inner.width * share, y: height - 6 },
      share === 0 ? 'start' : share === 1 ? 'end' : 'middle',
    ),
  );
  const title = isOn(params.title ?? '1') ? escapeXml(product.title.slice(0, Math.floor(width / 7))) : '';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="100%" height="100%" fill="#${params.cBackground ?? 'ffffff'}"/>${grid.join('')}${lines.join('')}${dates.join('')}${label(title, { x: margin.left, y: 15 }, 'start')}</svg>`;
}

/** Returns the corners of a stepped curve that ends at a time. */
function stepsOf(points: readonly Point[], to: number): Point[] {
  return points.flatMap(([time, value], i): Point[] => {
    const end = points[i + 1]?.[0] ?? to;
    return value < 0
      ? []
      : [
          [time, value],
          [end, value],
        ];
  });
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** Configures a bundled font for machines without fonts; sharp reads this setting when it is loaded. */
async function loadSharp() {
  if (!process.env.FONTCONFIG_FILE) {
    const fonts = join(
      dirname(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/package.json')),
      'ttf',
    );
    const folder = join(tmpdir(), `souk-demo-fonts-${process.getuid?.() ?? 0}`);
    mkdirSync(folder, { recursive: true });
    const config = join(folder, 'fonts.conf');
    writeFileSync(config, `<fontconfig><dir>${fonts}</dir><cachedir>${folder}</cachedir></fontconfig>`);
    process.env.FONTCONFIG_FILE = config;
  }
  return (await import('sharp')).default;
}
