import { z } from 'zod';
import { defineQueued } from '../define.ts';
import { mayLackFields } from '../params/answer-form.ts';
import { request } from '../params/request.ts';
import { oneOf } from '../params/scalars.ts';
import { columnsFrom } from '../tables/columns.ts';
import {
  echoed,
  echoOf,
  KEYWORD_NAMES,
  type KeywordInput,
  keywordParams,
  keywordsId,
  OF_TRENDS,
  rowsByValue,
  scopeOf,
  staleUpTo,
  tableByKeyword,
  withWindow,
} from './keyword-question.ts';

const RESOLUTIONS = ['COUNTRY', 'REGION', 'CITY', 'DMA'] as const;

export type Resolution = (typeof RESOLUTIONS)[number];

interface InterestByRegionInput extends KeywordInput {
  resolution: Resolution;
}

export interface RegionalInterest {
  /** The type of the regions. */
  resolution: string;
  regions: Region[];
}

export interface Region {
  /** null for a city. */
  geoCode: string | null;
  geoName: string;
  coordinates: { lat: number; lng: number } | null;
  /** One value for each keyword. */
  values: number[];
  hasData: boolean[];
  /** Index of the keyword with the highest value. */
  maxValueIndex: number;
}

const COLUMNS = columnsFrom({
  geoCode: ['text', 'Code of the region; empty for a city'],
  geoName: ['text', 'Name of the region'],
  geo: ['text', 'What it is a part of, such as US; empty: the whole world'],
  query: ['text', 'Keyword'],
  value: [
    'number',
    'With several keywords: their shares in the region, in percent; with one: 0 to 100, the highest of all regions',
  ],
  hasData: ['boolean', 'Whether there are data'],
});

export const interestByRegion = defineQueued({
  name: 'trends.interest-by-region',
  summary: 'Compares search interest in keywords by country, region, metropolitan area or city.',
  tool: 'web_trends_interest_by_region',
  ...OF_TRENDS,
  routes: [{ method: 'POST', path: '/api/webtrends/interest-by-region' }],
  params: request(KEYWORD_NAMES, {
    ...keywordParams(),
    resolution: oneOf(RESOLUTIONS)
      .default('COUNTRY')
      .describe('COUNTRY, REGION, CITY or DMA; within a country, COUNTRY means its regions'),
  }).superRefine(({ geo, resolution }, context) => {
    const allowed = allowedResolutions(geo);
    if (allowed.includes(resolution)) return;
    const where = geo === '' ? 'the whole world' : geo;
    const message = `must be one of ${allowed.join(', ')} for ${where}, got ${resolution}`;
    context.addIssue({ code: 'custom', path: ['resolution'], message, input: resolution });
  }),
  onDay: withWindow,
  source: (input) => {
    const resolution = resolutionToAskFor(input) ?? 'own';
    const identity = `trends/region/${scopeOf(input)}/${resolution}/${keywordsId(input.keyword)}`;
    return [{ key: '', identity, ...staleUpTo(input) }];
  },
  toolData(data, input) {
    const table = tableByKeyword(data.regions, data.keywords, ['geoCode', 'geoName']);
    return table && !mayLackFields(input) ? { ...data, regions: table } : data;
  },
  tables: {
    regions: {
      columns: () => COLUMNS,
      rows: ({ regions, geo }) => rowsByValue(regions, geo),
    },
  },
  respond: {
    type: 'json',
    records: { path: 'regions' },
    answer: z.object({
      ...echoed(),
      resolution: z.string().nullable().describe('Kind of regions'),
      valueMode: z
        .enum(['percentage', 'index'])
        .describe(
          'percentage: shares of the keywords in a region; index: 100 is the region with the highest interest',
        ),
      regions: z.array(
        z.object({
          geoCode: z.string().nullable().describe('null for a city'),
          geoName: z.string(),
          coordinates: z.object({ lat: z.number(), lng: z.number() }).nullable(),
          values: z.array(z.object({ query: z.string(), value: z.number(), hasData: z.boolean() })),
          maxValueIndex: z.int().describe('Index of the keyword with the highest value'),
        }),
      ),
    }),
    present(found: ReadonlyMap<string, RegionalInterest>, input) {
      const { resolution = null, regions = [] } = found.get('') ?? {};
      const { keyword } = input;
      const shown = regions
        .filter(({ hasData }) => hasData.some(Boolean))
        .sort((a, b) => (b.values[0] ?? 0) - (a.values[0] ?? 0) || a.geoName.localeCompare(b.geoName, 'en'))
        .map(({ geoCode, geoName, coordinates, values, hasData, maxValueIndex }) => ({
          geoCode,
          geoName,
          coordinates,
          values: keyword.map((query, i) => ({ query, value: values[i] ?? 0, hasData: hasData[i] ?? false })),
          maxValueIndex,
        }));
      const valueMode = keyword.length > 1 ? 'percentage' : 'index';
      return { data: { ...echoOf(input), resolution, valueMode, regions: shown } };
    },
  },
});

/** COUNTRY, the default, means upstream's default: countries of the world, regions of a country, cities of a region. */
function allowedResolutions(geo: string): Resolution[] {
  if (geo === '') return ['COUNTRY', 'REGION', 'CITY'];
  const [country, region, metro] = geo.split('-');
  if (region === undefined)
    return country === 'US' ? ['COUNTRY', 'REGION', 'CITY', 'DMA'] : ['COUNTRY', 'REGION', 'CITY'];
  return country === 'US' && metro === undefined ? ['COUNTRY', 'CITY', 'DMA'] : ['COUNTRY', 'CITY'];
}

/** Returns the resolution to request from upstream; null for upstream's default. */
export function resolutionToAskFor({
  geo,
  resolution,
}: Pick<InterestByRegionInput, 'geo' | 'resolution'>): Resolution | null {
  return resolution === 'COUNTRY' || resolution === ownResolution(geo) ? null : resolution;
}

/** Returns upstream's default resolution. */
function ownResolution(geo: string): Resolution {
  if (geo === '') return 'COUNTRY';
  const [country, region, metro] = geo.split('-');
  if (region === undefined) return 'REGION';
  return country === 'US' && metro === undefined ? 'DMA' : 'CITY';
}
