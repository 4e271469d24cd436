import { XMLBuilder } from 'fast-xml-parser';
import type { DemoTrend } from './trending.ts';

const LENGTH = 10;
const PACIFIC_OFFSET_SECONDS = 8 * 3600;

const builder = new XMLBuilder({ ignoreAttributes: false, format: true });

/** Writes the feed of the newest trends. */
export function feedOf(trends: readonly DemoTrend[], address: string): string {
  const newest = [...trends].sort((a, b) => b.start - a.start).slice(0, LENGTH);
  return builder.build({
    '?xml': { '@_version': '1.0', '@_encoding': 'UTF-8', '@_standalone': 'yes' },
    rss: {
      '@_xmlns:atom': 'http://www.w3.org/2005/Atom',
      '@_xmlns:ht': 'https://trends.google.com/trending/rss',
      '@_version': '2.0',
      channel: {
        title: 'Daily Search Trends',
        description: 'Recent searches',
        link: address,
        item: newest.map((trend) => ({
          title: trend.title,
          'ht:approx_traffic': `${trend.volume}+`,
          description: '',
          link: address,
          pubDate: pacificDate(trend.start),
          'ht:picture': trend.articles[0]?.picture,
          'ht:picture_source': trend.articles[0]?.source,
          'ht:news_item': trend.articles.map(({ title, url, source, picture }) => ({
            'ht:news_item_title': title,
            'ht:news_item_snippet': '',
            'ht:news_item_url': url,
            'ht:news_item_picture': picture,
            'ht:news_item_source': source,
          })),
        })),
      },
    },
  });
}

/** Formats a time by RFC 822, in Pacific time. */
function pacificDate(unixSeconds: number): string {
  const local = new Date((unixSeconds - PACIFIC_OFFSET_SECONDS) * 1000).toUTCString();
  return local.replace('GMT', '-0800');
}
