import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isKnownGeo, ownResolution } from './regions.ts';
import { readWindow, stepOf } from './time-axis.ts';

const request = z.object({
  comparisonItem: z
    .array(z.object({ keyword: z.string().min(1), geo: z.string(), time: z.string() }))
    .min(1)
    .max(5),
  category: z.int(),
  property: z.string(),
});

type Asked = z.output<typeof request>;
type Item = Asked['comparisonItem'][number];

/**
 * Returns the widgets for one keyword, or the common ones and some for each of several keywords.
 * @returns null for a request that upstream does not understand.
 */
export function explore(req: unknown, hl: string, nowMs: number): Record<string, unknown> | null {
  const result = request.safeParse(req);
  if (!result.success) return null;
  const asked = result.data;
  const { comparisonItem: items } = asked;
  const isUnderstood = items.every(
    ({ geo, time }) => (geo === '' || isKnownGeo(geo)) && readWindow(time, nowMs) !== null,
  );
  if (!isUnderstood) return null;
  const widget = (id: string, type: string, content: object) => ({
    request: content,
    token: tokenOf(content, nowMs),
    id,
    type,
    title: id,
    version: '1',
  });
  const maps = (id: string, of: readonly Item[]) =>
    widget(id, of.length > 1 ? 'fe_multi_heat_map' : 'fe_geo_chart_explore', mapRequest(of, asked, hl));
  const related = (id: string, item: Item, kind: string) =>
    widget(id, 'fe_related_searches', relatedRequest(item, kind, asked, hl, nowMs));
  const [first] = items;
  const common = [
    widget('TIMESERIES', 'fe_line_chart', seriesRequest(asked, hl, nowMs)),
    maps('GEO_MAP', items),
  ];
  const others =
    items.length === 1 && first
      ? [related('RELATED_TOPICS', first, 'ENTITY'), related('RELATED_QUERIES', first, 'QUERY')]
      : items.flatMap((item, i) => [
          { text: { text: item.keyword }, id: `TITLE_${i}`, type: 'fe_text', title: '', version: '1' },
          maps(`GEO_MAP_${i}`, [item]),
          related(`RELATED_QUERIES_${i}`, item, 'QUERY'),
        ]);
  return {
    widgets: [...common, ...others],
    keywords: items.map(({ keyword }) => ({ keyword, name: keyword, type: 'Search term' })),
    timeRanges: [first?.time],
    shareText: 'Explore search interest',
    shouldShowMultiHeatMapMessage: false,
  };
}

const restrictionOf = ({ keyword }: Item) => ({
  keyword: [{ type: keyword.startsWith('/m/') ? 'ENTITY' : 'BROAD', value: keyword }],
});

const optionsOf = ({ property, category }: Asked) => ({ property, backend: 'IZG', category });

const USER = { userType: 'USER_TYPE_SCRAPER' };

/** Returns `{}`, or the geo under the name of its type. */
function geoObject(geo: string): Record<string, string> {
  if (geo === '') return {};
  return { [['country', 'region', 'dma'][geo.split('-').length - 1] ?? 'dma']: geo };
}

function seriesRequest(asked: Asked, hl: string, nowMs: number) {
  const time = asked.comparisonItem[0]?.time ?? '';
  const window = readWindow(time, nowMs);
  return {
    time,
    resolution: window && stepOf(window, nowMs),
    locale: hl,
    comparisonItem: asked.comparisonItem.map((item) => ({
      geo: geoObject(item.geo),
      complexKeywordsRestriction: restrictionOf(item),
    })),
    requestOptions: optionsOf(asked),
    userConfig: USER,
  };
}

function mapRequest(items: readonly Item[], asked: Asked, hl: string) {
  const geo = items[0]?.geo ?? '';
  return {
    geo: geoObject(geo),
    comparisonItem: items.map((item) => ({
      time: item.time,
      complexKeywordsRestriction: restrictionOf(item),
    })),
    resolution: ownResolution(geo),
    locale: hl,
    requestOptions: optionsOf(asked),
    ...(items.length > 1 ? { dataMode: 'PERCENTAGES' } : {}),
    userConfig: USER,
  };
}

function relatedRequest(item: Item, keywordType: string, asked: Asked, hl: string, nowMs: number) {
  const window = readWindow(item.time, nowMs);
  const day = (unixSeconds: number) => new Date(unixSeconds * 1000).toISOString().slice(0, 10);
  const before = window && `${day(2 * window.from - window.to)} ${day(window.from - 86_400)}`;
  return {
    restriction: {
      geo: geoObject(item.geo),
      time: item.time,
      originalTimeRangeForExploreUrl: item.time,
      complexKeywordsRestriction: restrictionOf(item),
    },
    keywordType,
    metric: ['TOP', 'RISING'],
    trendinessSettings: { compareTime: before },
    requestOptions: optionsOf(asked),
    language: hl.split('-')[0],
    userCountryCode: 'US',
    userConfig: USER,
  };
}

/** Fields of a request that may change without invalidating its token. */
const FREE_FIELDS = ['resolution', 'includeLowSearchVolumeGeos'];

const HEAD = Buffer.from('00dbc0030000000000', 'hex');
const LIFETIME_SECONDS = 86_400;
const SIGNATURE_BYTES = 20;

/** Returns a token with the length of real ones: 9 fixed bytes, its expiry, a signature of the request. */
function tokenOf(request: object, nowMs: number): string {
  const end = Math.floor(nowMs / 1000) + LIFETIME_SECONDS;
  return encode(request, end);
}

/** Returns whether a token belongs to this request and has not expired. */
export function isTokenGood(token: string | undefined, request: object, nowMs: number): boolean {
  const bytes = Buffer.from(token ?? '', 'base64url');
  if (bytes.length !== HEAD.length + 4 + SIGNATURE_BYTES) return false;
  const end = bytes.readUInt32BE(HEAD.length);
  return end * 1000 > nowMs && encode(request, end) === token;
}

function encode(request: object, end: number): string {
  const time = Buffer.alloc(4);
  time.writeUInt32BE(end);
  const signed = Object.entries(request).filter(([name]) => !FREE_FIELDS.includes(name));
  const signature = createHash('sha256').update(time).update(JSON.stringify(signed)).digest();
  return Buffer.concat([HEAD, time, signature.subarray(0, SIGNATURE_BYTES)]).toString('base64url');
}
