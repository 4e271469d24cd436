import { z } from 'zod';
import { defineQueued } from '../define.ts';
import { mayLackFields } from '../params/answer-form.ts';
import { request } from '../params/request.ts';
import { columnsFrom } from '../tables/columns.ts';
import {
  echoed,
  echoOf,
  KEYWORD_NAMES,
  keywordParams,
  keywordsId,
  OF_TRENDS,
  rowsByValue,
  scopeOf,
  staleUpTo,
  tableByKeyword,
  withWindow,
} from './keyword-question.ts';

/** One series for each keyword, in the order of the request. */
export interface Timeline {
  /** Width of a point: MINUTE, ..., DAY, WEEK, MONTH. */
  resolution: string;
  points: TimelinePoint[];
}

interface TimelinePoint {
  /** Unix seconds of its start. */
  timestamp: number;
  formattedTime: string;
  /** The period of the last point may not have ended. */
  isPartial: boolean;
  /** 0-100 for each keyword; 100 is the highest of all. */
  values: number[];
  hasData: boolean[];
}

const COLUMNS = columnsFrom({
  date: ['time', 'Start of the period, in UTC'],
  geo: ['text', 'Region, such as US; empty: the whole world'],
  query: ['text', 'Keyword'],
  value: ['number', 'Search interest, 0 to 100; 100 is the highest value of all keywords'],
  hasData: ['boolean', 'Whether there are data'],
  isPartial: ['boolean', 'Whether the period has not ended yet'],
});

export const interestOverTime = defineQueued({
  name: 'trends.interest-over-time',
  summary: 'Compares search interest in keywords over time.',
  tool: 'web_trends_interest_over_time',
  ...OF_TRENDS,
  routes: [{ method: 'POST', path: '/api/webtrends/interest-over-time' }],
  params: request(KEYWORD_NAMES, keywordParams()),
  onDay: withWindow,
  source: (input) => [
    {
      key: '',
      identity: `trends/time/${scopeOf(input)}/${input.timezone}/${keywordsId(input.keyword)}`,
      ...staleUpTo(input),
    },
  ],
  toolData(data, input) {
    const points = data.timelineData as { isPartial: boolean }[];
    const table = mayLackFields(input) ? null : tableByKeyword(points, data.keywords, ['date']);
    if (!table) return data;
    return { ...data, timelineData: table, lastIsPartial: points.at(-1)?.isPartial ?? false };
  },
  tables: {
    interest: {
      columns: () => COLUMNS,
      rows: ({ timelineData, geo }) => rowsByValue(timelineData, geo),
    },
  },
  respond: {
    type: 'json',
    records: { path: 'timelineData' },
    answer: z.object({
      ...echoed(),
      timezone: z.int().describe('Minutes east of UTC'),
      resolution: z.string().nullable().describe('Period of a point, such as MINUTE, DAY, WEEK or MONTH'),
      timelineData: z.array(
        z.object({
          timestamp: z.int().describe('Start of the period, in Unix seconds'),
          date: z
            .string()
            .describe(
              'Start of the period in UTC: a date, or date and time if periods are shorter than a day',
            ),
          formattedTime: z.string(),
          isPartial: z.boolean().describe('Whether the period has not ended yet'),
          values: z.array(
            z.object({
              query: z.string(),
              value: z.number().describe('0-100; 100 is the highest value of all keywords'),
              hasData: z.boolean(),
            }),
          ),
        }),
      ),
      averages: z.array(z.object({ query: z.string(), value: z.number() })),
    }),
    present(found: ReadonlyMap<string, Timeline>, input) {
      const { resolution = null, points = [] } = found.get('') ?? {};
      const { keyword, timezone } = input;
      const timelineData = points.map(({ timestamp, formattedTime, isPartial, values, hasData }) => ({
        timestamp,
        date: dateOf(timestamp, resolution),
        formattedTime,
        isPartial,
        values: keyword.map((query, i) => ({ query, value: values[i] ?? 0, hasData: hasData[i] ?? false })),
      }));
      const averages =
        points.length === 0 ? [] : keyword.map((query, i) => ({ query, value: mean(points, i) }));
      return { data: { ...echoOf(input), timezone, resolution, timelineData, averages } };
    },
  },
});

const BY_DAY = new Set(['DAY', 'WEEK', 'MONTH']);

/** Returns the day in UTC, or date and time when points are shorter than a day. */
export function dateOf(timestamp: number, resolution: string | null): string {
  const time = new Date(timestamp * 1000).toISOString();
  return BY_DAY.has(resolution ?? '') ? time.slice(0, 10) : time.replace('.000Z', 'Z');
}

/** Returns the rounded mean, as upstream calculates it for several keywords: a point without data counts as 0. */
function mean(points: readonly TimelinePoint[], keyword: number): number {
  const sum = points.reduce((total, { values }) => total + (values[keyword] ?? 0), 0);
  return Math.round(sum / points.length);
}
