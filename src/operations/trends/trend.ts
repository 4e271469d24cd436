import { z } from 'zod';
import { SCHEMA_NAMES } from '../answers/schema-names.ts';

/** What is being searched for much more than usual. */
export interface Trend {
  title: string;
  /** Unix seconds. */
  startedAt: number;
  /** Unix seconds; null while it lasts, or where the feed does not say. */
  endedAt: number | null;
  /** Whether it lasts; null where the feed does not say. */
  active: boolean | null;
  /** At least so many searches. */
  searchVolume: number;
  /** null where the feed does not say, as for the two that follow. */
  increasePercentage: number | null;
  topicIds: number[] | null;
  /** Searches that belong to it, its own title first. */
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

/** All trends of a region in a window of time, in no order. */
export interface TrendList {
  /** `rss`: the feed with ten of them, where the whole list could not be had. */
  source: 'trending_now' | 'rss';
  trends: Trend[];
}

/** Upstream's topics of trends. They have nothing to do with the categories of keywords. */
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

/** A trend as an answer shows it. */
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

/** The same, in documentation. */
export const trendRecord = z
  .object({
    rank: z.int().min(1),
    query: z.string(),
    searchVolume: z.int().describe('At least so many searches'),
    formattedTraffic: z.string().describe('The same in words, such as 2K+'),
    increasePercentage: z.number().nullable(),
    startedAt: time,
    endedAt: time.nullable().describe('null while it lasts, or where that is not known'),
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

/** What says where a list is from. */
export function listSource() {
  return z
    .enum(['trending_now', 'rss'])
    .nullable()
    .describe('rss: the feed with ten trends, where the whole list could not be had');
}

/** 2000 as 2K, 1500000 as 1.5M. */
function shortened(count: number): string {
  if (count >= 1_000_000) return `${count / 1_000_000}M`;
  return count >= 1000 ? `${count / 1000}K` : String(count);
}

function isoTime(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().replace('.000Z', 'Z');
}
