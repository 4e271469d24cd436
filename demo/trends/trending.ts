import { XMLBuilder } from 'fast-xml-parser';
import { fraction, hash, pick } from '../catalog/random.ts';
import { wordsOf } from '../words.ts';

interface DemoTrend {
  title: string;
  geo: string;
  /** Unix seconds. */
  start: number;
  end: number | null;
  volume: number;
  growth: number;
  queries: string[];
  topics: number[];
  articles: { title: string; url: string; source: string; time: number; picture: string }[];
}

const GRID_SECONDS = 600;
const VOLUMES = [
  100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
];
const GROWTHS = [50, 75, 100, 200, 300, 400, 500, 1000] as const;
const FIRST = wordsOf('trend first names');
const LAST = wordsOf('trend last names');
const TEAMS = wordsOf('trend teams');
const THINGS = wordsOf('trend things');
const PLACES = wordsOf('trend places');
const PAPERS = wordsOf('trend papers');

/** The types of trends, with their titles and upstream's topics. */
const KINDS: [topics: number[], title: (...seed: (string | number)[]) => string][] = [
  [[17], (...seed) => `${pick(TEAMS, 'home', ...seed)} vs ${pick(TEAMS, 'guest', ...seed)}`.toLowerCase()],
  [[4], (...seed) => `${pick(FIRST, ...seed)} ${pick(LAST, 'last', ...seed)}`.toLowerCase()],
  [[18, 16], (...seed) => `new ${pick(THINGS, ...seed)} release date`],
  [[20, 10], (...seed) => `${pick(PLACES, ...seed)} storm warning`],
  [[3], (...seed) => `${pick(LAST, ...seed)} stock`.toLowerCase()],
  [[7], (...seed) => `${pick(PLACES, ...seed)} virus symptoms`],
  [[15], (...seed) => `${pick(LAST, 'comet', ...seed)} comet`.toLowerCase()],
  [[14], (...seed) => `${pick(LAST, 'vote', ...seed)} election results`.toLowerCase()],
];

/** Returns the trends of a region that started in the last hours. */
export function trendsOf(geo: string, hours: number, nowMs: number): DemoTrend[] {
  const now = Math.floor(nowMs / 1000);
  const last = Math.floor(now / GRID_SECONDS);
  const first = Math.ceil((now - hours * 3600) / GRID_SECONDS);
  const trends: DemoTrend[] = [];
  for (let slot = first; slot <= last; slot += 1) {
    if (fraction('trend', geo, slot) < 0.8) trends.push(trendOf(geo, slot, now));
  }
  // The order has no meaning.
  return trends.sort((a, b) => hash('order', a.title, a.start) - hash('order', b.title, b.start));
}

function trendOf(geo: string, slot: number, now: number): DemoTrend {
  const [topics, nameOf] = KINDS[hash('kind', geo, slot) % KINDS.length] ?? [[11], () => 'news'];
  const title = nameOf(geo, slot);
  const start = slot * GRID_SECONDS;
  const end = start + GRID_SECONDS * (6 + (hash('end', geo, slot) % 80));
  return {
    title,
    geo,
    start,
    end: end > now ? null : end,
    volume: VOLUMES[Math.floor(fraction('volume', geo, slot) ** 2 * VOLUMES.length)] ?? 100,
    growth: pick(GROWTHS, 'growth', geo, slot),
    queries: [title, `${title} news`, `${title} today`].slice(0, 1 + (hash('queries', geo, slot) % 3)),
    topics,
    articles: Array.from({ length: 3 }, (_, i) => ({
      title: `What is known about ${title}${['', ', explained', ': the latest'][i] ?? ''}`,
      url: `https://news.example.com/${geo.toLowerCase()}/${slot}/${i}`,
      source: pick(PAPERS, geo, slot, i),
      time: start - i * 700,
      picture: `https://images.example.com/${geo.toLowerCase()}/${slot}-${i}.jpg`,
    })),
  };
}

/** Returns the 13 slots of a trend. */
export function slotsOf(trend: DemoTrend, language: string, articles: number): unknown[] {
  const news = trend.articles
    .slice(0, articles)
    .map(({ title, url, source, time, picture }) => [title, url, source, [time], picture]);
  return [
    trend.title,
    articles > 0 ? news : null,
    trend.geo,
    [trend.start],
    trend.end === null ? null : [trend.end],
    null,
    trend.volume,
    null,
    trend.growth,
    trend.queries,
    trend.topics,
    [[4_000_000_000 + trend.start, language, trend.geo]],
    trend.title,
  ];
}

const FEED_LENGTH = 10;
const PACIFIC_OFFSET_SECONDS = 8 * 3600;

const builder = new XMLBuilder({ ignoreAttributes: false, format: true });

/** Writes the feed of the newest trends. */
export function feedOf(trends: readonly DemoTrend[], address: string): string {
  const newest = [...trends].sort((a, b) => b.start - a.start).slice(0, FEED_LENGTH);
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
