import { z } from 'zod';
import { interestAt, regionalInterest } from './interest.ts';
import { isMarket, regionsOf } from './regions.ts';
import { related } from './related.ts';
import { formattedTime, pointsOf, readWindow, type Step } from './time-axis.ts';

const geo = z.record(z.string(), z.string()).transform((names) => Object.values(names)[0] ?? '');
const restriction = z.object({ keyword: z.array(z.object({ value: z.string() })).min(1) });
const options = z.object({ property: z.string(), category: z.number() });

interface WidgetContext {
  hl: string;
  tz: number;
  nowMs: number;
}

/** Returns the data of a widget; null if upstream does not understand the request. */
export type WidgetData = (request: unknown, context: WidgetContext) => Record<string, unknown> | null;

const seriesSchema = z.object({
  time: z.string(),
  resolution: z.string(),
  comparisonItem: z.array(z.object({ geo, complexKeywordsRestriction: restriction })).min(1),
  requestOptions: options,
});

/** The highest point of all series is 100. */
export const multiline: WidgetData = (request, { hl, tz, nowMs }) => {
  const { data } = seriesSchema.safeParse(request);
  const window = data && readWindow(data.time, nowMs);
  if (!data || !window) return null;
  const step = data.resolution as Step;
  const { property } = data.requestOptions;
  const points = pointsOf(window, step, nowMs);
  const series = data.comparisonItem.map((item) => {
    const place = `${item.geo}/${property}`;
    return points.map(({ at }) => interestAt(keywordOf(item), place, at));
  });
  const highest = Math.max(...series.flat(), Number.MIN_VALUE);
  const shares = series.map((values) => values.map((value) => Math.round((100 * value) / highest)));
  const timelineData = points.map(({ at, isPartial }, i) => {
    const value = shares.map((values) => values[i] ?? 0);
    return {
      time: String(at),
      formattedTime: formattedTime(at, step, hl, tz),
      formattedAxisTime: formattedTime(at, step === 'WEEK' ? 'DAY' : step, hl, tz),
      value,
      hasData: value.map(() => true),
      formattedValue: value.map((share) => (share === 0 ? '<1' : String(share))),
      ...(isPartial ? { isPartial } : {}),
    };
  });
  const mean = (values: number[]) =>
    Math.round(values.reduce((sum, value) => sum + value, 0) / points.length);
  const averages = shares.length > 1 && points.length > 0 ? shares.map(mean) : [];
  return { default: { timelineData, averages } };
};

const mapSchema = z.object({
  geo,
  resolution: z.string(),
  comparisonItem: z.array(z.object({ complexKeywordsRestriction: restriction })).min(1),
});

/** One keyword: the best region is 100. Several: shares of 100 within each region. */
export const comparedgeo: WidgetData = (request, { hl }) => {
  const { data } = mapSchema.safeParse(request);
  const regions = data && regionsOf(data.geo, data.resolution, hl);
  if (!data || !regions) return null;
  const keywords = data.comparisonItem.map(keywordOf);
  const rows = regions.map((region) => {
    const place = region.code ?? region.name;
    // In a worldwide list most countries have too few searches.
    const hasData = data.resolution !== 'COUNTRY' || isMarket(region.code);
    return {
      region,
      hasData,
      interest: keywords.map((keyword) => (hasData ? regionalInterest(keyword, place) : 0)),
    };
  });
  const isCompared = keywords.length > 1;
  const highest = Math.max(...rows.map(({ interest }) => interest[0] ?? 0));
  const geoMapData = rows.map(({ region, hasData, interest }) => {
    const whole = isCompared ? interest.reduce((sum, value) => sum + value, 0) : highest;
    const value = interest.map((one) => (hasData ? Math.round((100 * one) / whole) : 0));
    return {
      ...(region.code === null ? { coordinates: region.coordinates } : { geoCode: region.code }),
      geoName: region.name,
      value,
      formattedValue: value.map((share) => (hasData ? `${share}${isCompared ? '%' : ''}` : '')),
      maxValueIndex: value.indexOf(Math.max(...value)),
      hasData: value.map(() => hasData),
    };
  });
  if (keywords.length === 1) geoMapData.sort((a, b) => (b.value[0] ?? 0) - (a.value[0] ?? 0));
  return { default: { geoMapData } };
};

const relatedSchema = z.object({
  restriction: z.object({ geo, time: z.string(), complexKeywordsRestriction: restriction }),
  keywordType: z.enum(['QUERY', 'ENTITY']),
});

export const relatedsearches: WidgetData = (request) => {
  const { data } = relatedSchema.safeParse(request);
  if (!data) return null;
  const { restriction, keywordType } = data;
  const scope = { keyword: keywordOf(restriction), geo: restriction.geo, time: restriction.time };
  return { default: { rankedList: related(scope, keywordType) } };
};

function keywordOf({
  complexKeywordsRestriction,
}: {
  complexKeywordsRestriction: z.output<typeof restriction>;
}) {
  return complexKeywordsRestriction.keyword[0]?.value ?? '';
}
