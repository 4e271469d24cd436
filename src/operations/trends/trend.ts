import { z } from 'zod';
import { SCHEMA_NAMES } from '../answers/schema-names.ts';

/** A term that is searched for much more often than usual. */
export interface Trend {
  title: string;
  /** Unix seconds. */
  startedAt: number;
  /** Unix seconds; null while the trend is active, or if the list comes from the feed. */
  endedAt: number | null;
  /** null if the list comes from the feed. */
  active: boolean | null;
  /** Minimum number of searches. */
  searchVolume: number;
  /** This field and the next two are null if the list comes from the feed. */
  increasePercentage: number | null;
  topicIds: number[] | null;
  /** Search terms of the trend, its title first. */
  queries: string[] | null;
  articles: TrendArticle[];
}

export interface TrendArticle {
  title: string;
  url: string;
  source: string;
  /** Unix seconds. */
  publishedAt: number | null;
  imageUrl: string | null;
}

/** All trends of a region in a period, unordered. */
export interface TrendList {
  /** `rss`: the feed with ten trends, which is used when the full list is unavailable. */
  source: 'trending_now' | 'rss';
  trends: Trend[];
}

/** The columns of a table of trends. */
export const TREND_COLUMNS = [
  ...['rank', 'query', 'searchVolume', 'increasePercentage', 'startedAt', 'endedAt', 'active'],
] as const;

/** Upstream's topics of trends. They differ from the categories of keywords. */
const TOPICS: Record<number, string> = {
  1: 'Autos and Vehicles',
  2: 'Beauty and Fashion',
  3: 'Business and Finance',
  4: 'Entertainment',
  5: 'Food and Drink',
  6: 'Games',
  7: 'Health',
  8: 'Hobbies and Leisure',
  9: 'Jobs and Education',
  10: 'Law and Government',
  11: 'Other',
  13: 'Pets and Animals',
  14: 'Politics',
  15: 'Science',
  16: 'Shopping',
  17: 'Sports',
  18: 'Technology',
  19: 'Travel and Transportation',
  20: 'Climate',
};

/** Returns a trend in the form of an answer. */
export function shownTrend(trend: Trend, index: number) {
  const { title, searchVolume, increasePercentage, startedAt, endedAt, active, topicIds, queries } = trend;
  return {
    rank: index + 1,
    query: title,
    searchVolume,
    formattedTraffic: `${shortened(searchVolume)}+`,
    increasePercentage,
    startedAt: isoTime(startedAt),
    endedAt: endedAt === null ? null : isoTime(endedAt),
    active,
    categories: topicIds?.map((id) => ({ id, name: TOPICS[id] ?? null })) ?? null,
    relatedQueries: queries ?? [],
    articles: trend.articles.map((article) => ({
      ...article,
      publishedAt: article.publishedAt === null ? null : isoTime(article.publishedAt),
    })),
  };
}

const time = z.iso.datetime();

/** Schema of `shownTrend`. */
export const trendRecord = z
  .object({
    rank: z.int().min(1),
    query: z.string(),
    searchVolume: z.int().describe('Minimum number of searches'),
    formattedTraffic: z.string().describe('searchVolume as text, such as 2K+'),
    increasePercentage: z.number().nullable(),
    startedAt: time,
    endedAt: time.nullable().describe('null while the trend is active, or if unknown'),
    active: z.boolean().nullable(),
    categories: z.array(z.object({ id: z.int(), name: z.string().nullable() })).nullable(),
    relatedQueries: z.array(z.string()),
    articles: z.array(
      z.object({
        title: z.string(),
        url: z.string(),
        source: z.string(),
        publishedAt: time.nullable(),
        imageUrl: z.string().nullable(),
      }),
    ),
  })
  .register(SCHEMA_NAMES, { id: 'Trend' });

/** Schema of the field that names the origin of a list. */
export function listSource() {
  return z
    .enum(['trending_now', 'rss'])
    .nullable()
    .describe('rss: the feed with ten trends, used if the full list is unavailable');
}

/** Abbreviates a number: 2000 becomes 2K, 1500000 becomes 1.5M. */
function shortened(count: number): string {
  if (count >= 1_000_000) return `${count / 1_000_000}M`;
  return count >= 1000 ? `${count / 1000}K` : String(count);
}

function isoTime(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().replace('.000Z', 'Z');
}
