import { XMLParser } from 'fast-xml-parser';
import { z } from 'zod';
import type { Trend } from '../../operations/trends/trend.ts';
import { Refusal } from './refusal.ts';

/** Ignores namespace prefixes, because the namespace address has changed before. */
const parser = new XMLParser({
  removeNSPrefix: true,
  parseTagValue: false,
  ignoreDeclaration: true,
  // The parser decodes numeric character references, which XML has, only with the HTML entities.
  htmlEntities: true,
  isArray: (name) => name === 'item' || name === 'news_item',
});

const text = z.string().trim().catch('');
const newsItem = z.object({
  news_item_title: text,
  news_item_url: text,
  news_item_source: text,
  news_item_picture: text,
});
const feed = z.object({
  rss: z.object({
    channel: z.object({
      item: z
        .array(
          z.object({
            title: z.string(),
            approx_traffic: text,
            pubDate: z.string().refine((date) => !Number.isNaN(Date.parse(date))),
            news_item: z.array(newsItem).default([]),
          }),
        )
        .default([]),
    }),
  }),
});

/** Reads the ten trends of the feed, which lacks their growth, end, topics and searches. */
export function readFeed(xml: string): Trend[] {
  const result = feed.safeParse(parsed(xml));
  if (!result.success) throw new Refusal('malformed', 'unexpected content of the feed');
  return result.data.rss.channel.item.map(({ title, approx_traffic, pubDate, news_item }) => ({
    title,
    startedAt: Math.floor(Date.parse(pubDate) / 1000),
    endedAt: null,
    active: null,
    searchVolume: volumeOf(approx_traffic),
    increasePercentage: null,
    topicIds: null,
    queries: null,
    articles: news_item.map((news) => ({
      title: news.news_item_title,
      url: news.news_item_url,
      source: news.news_item_source,
      publishedAt: null,
      imageUrl: news.news_item_picture || null,
    })),
  }));
}

/** Parses `10000+`, or `200,000+` of older feeds; returns 0 for anything else. */
function volumeOf(traffic: string): number {
  const volume = Number(traffic.replaceAll(/\D/g, ''));
  return Number.isSafeInteger(volume) ? volume : 0;
}

function parsed(xml: string): unknown {
  try {
    return parser.parse(xml, true);
  } catch (cause) {
    throw new Refusal('malformed', 'the feed is not XML', { cause });
  }
}
