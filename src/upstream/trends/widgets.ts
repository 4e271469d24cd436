import { z } from 'zod';
import type { RegionalInterest } from '../../operations/trends/interest-by-region.ts';
import type { Timeline } from '../../operations/trends/interest-over-time.ts';
import type { Related, RelatedFacts, RelatedQuery, RelatedTopic } from '../../operations/trends/related.ts';
import { parseJson } from '../../platform/json.ts';
import type { HttpResponse } from '../http-client.ts';
import { Refusal } from './rate-limited-endpoint.ts';

/** Fatal, because wrongly decoded bytes would silently become other words. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Decodes the text of an answer, which is always UTF-8. @throws Refusal `malformed` */
export function textOf(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch (cause) {
    throw new Refusal('malformed', 'HTTP 200 with a text that is not UTF-8', { cause });
  }
}

/** The prefix that keeps JSON from running as a script: with or without a comma, and one or two line feeds. */
const GUARD = /^\)\]\}',?\n{1,2}/;

/** Parses the JSON behind the guard. @throws Refusal `malformed` for anything else, such as a web page. */
export function readGuarded({ contentType, body }: Pick<HttpResponse, 'contentType' | 'body'>): unknown {
  if (!/^application\/json\b/i.test(contentType))
    throw new Refusal('malformed', `HTTP 200 with ${contentType}`);
  return parse(guardedText(body));
}

/** Returns the text behind the guard. */
export function guardedText(body: Buffer): string {
  const text = textOf(body);
  const [guard] = GUARD.exec(text) ?? [];
  if (guard === undefined) throw new Refusal('malformed', 'HTTP 200 without the guard before its JSON');
  return text.slice(guard.length);
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new Refusal('malformed', 'HTTP 200 with JSON that breaks off', { cause });
  }
}

const share = z.number().min(0).max(100);

const timeline = z.object({
  default: z.object({
    timelineData: z.array(
      z.object({
        time: z.string().regex(/^\d{1,11}$/),
        formattedTime: z.string().default(''),
        value: z.array(share),
        hasData: z.array(z.boolean()).optional(),
        isPartial: z.boolean().default(false),
      }),
    ),
  }),
});

/** @param keywords the expected number of series. */
export function readTimeline(answer: unknown, resolution: unknown, keywords: number): Timeline {
  const { timelineData } = checked(timeline, answer).default;
  const points = timelineData.map(({ time, formattedTime, value, hasData, isPartial }) => {
    requireOneEach(value, keywords);
    // Old answers lack this list; all their values count as data.
    return {
      timestamp: Number(time),
      formattedTime,
      isPartial,
      values: value,
      hasData: hasData ?? value.map(() => true),
    };
  });
  return { resolution: word(resolution), points };
}

const regions = z.object({
  default: z.object({
    geoMapData: z.array(
      z.object({
        geoCode: z.string().nullish(),
        geoName: z.string(),
        coordinates: z.object({ lat: z.number(), lng: z.number() }).nullish(),
        value: z.array(share),
        hasData: z.array(z.boolean()),
        maxValueIndex: z.int().min(0).default(0),
      }),
    ),
  }),
});

/** Reads the regions. Regions without data are omitted; worldwide these are the majority. */
export function readRegions(answer: unknown, resolution: unknown, keywords: number): RegionalInterest {
  const { geoMapData } = checked(regions, answer).default;
  const known = geoMapData.filter(({ hasData }) => hasData.some(Boolean));
  const read = known.map(({ geoCode, geoName, coordinates, value, hasData, maxValueIndex }) => {
    requireOneEach(value, keywords);
    return {
      geoCode: geoCode ?? null,
      geoName,
      coordinates: coordinates ?? null,
      values: value,
      hasData,
      maxValueIndex,
    };
  });
  return { resolution: word(resolution), regions: read };
}

/** Links lead to the public site, even if calls go to another address. */
const PUBLIC_SITE = 'https://trends.google.com';

const facts = {
  value: z.number(),
  formattedValue: z.string(),
  link: z.string().nullish(),
};
const query = z.object({ query: z.string(), ...facts });
const topic = z.object({
  topic: z.object({ mid: z.string(), title: z.string(), type: z.string().default('') }),
  ...facts,
});

export function readRelatedQueries(answer: unknown): Related<RelatedQuery> {
  return readRelated(query, answer);
}

export function readRelatedTopics(answer: unknown): Related<RelatedTopic> {
  return readRelated(topic, answer);
}

/** Reads two lists: the most frequent terms, and the fastest growing. Withheld topics come without lists. */
function readRelated<Term>(
  term: z.ZodType<Term & { value: number; formattedValue: string; link?: string | null | undefined }>,
  answer: unknown,
): Related<Term> {
  const schema = z.object({
    default: z.object({ rankedList: z.array(z.object({ rankedKeyword: z.array(term).default([]) })) }),
  });
  const { rankedList } = checked(schema, answer).default;
  const [top, rising] = rankedList.map(({ rankedKeyword }) =>
    rankedKeyword.map((entry) => ({ ...entry, link: publicLink(entry.link) })),
  ) as (Term & RelatedFacts)[][];
  return { available: rankedList.length > 0, top: top ?? [], rising: rising ?? [] };
}

/** Accepts only paths, as upstream sends: anything else after the site's name could lead to another site. */
function publicLink(path: string | null | undefined): string | null {
  return path?.startsWith('/') ? `${PUBLIC_SITE}${path}` : null;
}

function checked<T>(schema: z.ZodType<T>, answer: unknown): T {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  const where = result.error.issues[0]?.path.join('.');
  throw new Refusal('malformed', `unexpected data of the widget at ${where}`);
}

function requireOneEach(values: readonly number[], keywords: number): void {
  if (values.length !== keywords) {
    throw new Refusal('malformed', `${values.length} values for ${keywords} keywords`);
  }
}

function word(value: unknown): string {
  return typeof value === 'string' ? value : 'UNKNOWN';
}

/** A part of the page about some keywords, with the token for its data. */
export interface Widget {
  id: string;
  type: string;
  /** Must be sent unchanged: the token is valid only for this request. */
  request: Record<string, unknown>;
  token: string;
}

/** A request has about six levels of objects. Thousands of levels can be parsed, but not serialised. */
const MOST_LEVELS = 30;

const schema = z.looseObject({
  widgets: z.array(
    z.looseObject({
      id: z.string(),
      type: z.string(),
      request: z
        .record(z.string(), z.unknown())
        .refine((request) => !isDeeperThan(MOST_LEVELS, request))
        .optional(),
      token: z.string().min(1).optional(),
    }),
  ),
});

/** Reads the widgets that have data. @throws Refusal `malformed` if none has. */
export function readWidgets(answer: unknown): Widget[] {
  const result = schema.safeParse(answer);
  if (!result.success) throw new Refusal('malformed', 'the explore answer has no list of widgets');
  const widgets = result.data.widgets.flatMap(({ id, type, request, token }) =>
    request && token ? [{ id, type, request, token }] : [],
  );
  if (widgets.length === 0) throw new Refusal('malformed', 'the explore answer has no token');
  return widgets;
}

/** Returns the widget with this id; of several, the one of the keyword. Their order has no meaning. */
export function widgetOf(widgets: readonly Widget[], id: string, keyword?: string): Widget | undefined {
  return widgets.find(
    (widget) =>
      (widget.id === id || (keyword !== undefined && widget.id.startsWith(`${id}_`))) &&
      (keyword === undefined || keywordOf(widget) === keyword),
  );
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner));
}

const restricted = z.looseObject({
  restriction: z.looseObject({
    complexKeywordsRestriction: z.looseObject({ keyword: z.tuple([z.looseObject({ value: z.string() })]) }),
  }),
});

/** Returns the keyword of a widget about related searches. */
function keywordOf({ request }: Widget): string | null {
  const result = restricted.safeParse(request);
  return result.success ? result.data.restriction.complexKeywordsRestriction.keyword[0].value : null;
}
