import { z } from 'zod';
import type { RegionalInterest } from '../../operations/trends/interest-by-region.ts';
import type { Timeline } from '../../operations/trends/interest-over-time.ts';
import type { Related, RelatedFacts, RelatedQuery, RelatedTopic } from '../../operations/trends/related.ts';
import { Refusal } from './refusal.ts';

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
