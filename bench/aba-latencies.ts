import { walkRanks } from '../src/brand-analytics/rank-walk.ts';
import { searchTerms } from '../src/brand-analytics/search.ts';
import { loadedWeeks } from '../src/brand-analytics/weeks.ts';
import { historyOf } from '../src/brand-analytics/word.ts';
import type { CalledWeeks } from './aba-reports.ts';
import type { Row } from './row.ts';
import type { Services } from './services.ts';

const CALLS = 100;
const WORDS = 'tent,dog bed,shampoo,usb charger,pillow,yoga mat,gift,wooden,for cats,kite'.split(',');
const BRANDS = ['Acme', 'Globex', 'Umbra', 'Kestrel', 'Lumio', 'Nobody'];

/** Each endpoint over HTTP, through queue and worker, one call after the other, none twice. */
export async function abaLatencyRows(
  services: Services,
  { newest: WEEK, terms: TERMS }: CalledWeeks,
): Promise<Row[]> {
  const { url } = await services.startSouk('http://127.0.0.1:9');
  const [key = ''] = await services.keys(1);
  const { rows: words } = await services.database.query<{ id: number; asin: string }>(
    'select term_id as id, asin1::text as asin from aba_ranks where site = 1 and week = $1 and rank % 331 = 0',
    [WEEK],
  );
  const idAt = (i: number) => words[(i * 17) % words.length]?.id ?? 0;
  const asinAt = (i: number) =>
    Number(words[(i * 13) % words.length]?.asin ?? 0)
      .toString(36)
      .toUpperCase()
      .padStart(10, '0');
  const word = (i: number) => encodeURIComponent(WORDS[i % WORDS.length] ?? '');
  const calls: [string, (i: number) => string | object][] = [
    ['rank, a page at any depth', (i) => `rank?country=us&afterRank=${i * 9_973}`],
    ['rank, 1000 rows', (i) => `rank?country=us&limit=1000&afterRank=${i * 9_967}`],
    ['rank by keyword', (i) => `rank?country=us&keyword=${word(i)}&afterRank=${i * 101}`],
    [
      'rank by brand and category',
      (i) => `rank?country=us&brand=${BRANDS[i % BRANDS.length]}&category=cats&afterRank=${i * 53}`,
    ],
    [
      'rank by keyword, brand, sums',
      (i) =>
        `rank?country=us&keyword=${word(i)}&brand=${BRANDS[i % BRANDS.length]}&clickSumMin=${i % 100}&convSumMin=${i % 90}`,
    ],
    ['rank, new ones', (i) => `rank?country=us&fluctuationType=new&afterRank=${i * 8_111}`],
    ['search, English', (i) => `search?country=us&keyword=${word(i)}&limit=${20 + i}`],
    [
      'search, one Chinese character',
      (i) => `search?country=us&keyword=${encodeURIComponent('手机猫粮雨'[i % 5] ?? '')}&limit=${20 + i}`,
    ],
    ['word, 52 weeks', (i) => `word/${idAt(i)}`],
    ['history, 52 weeks', (i) => `word/${idAt(i)}/history`],
    ['goods', (i) => `word/${idAt(i)}/goods?country=us&reportDate=${WEEK}`],
    ['asin-reverse, 50 ASINs', (i) => ({ asins: Array.from({ length: 50 }, (_, k) => asinAt(i * 50 + k)) })],
    [
      'asin-reverse, one ASIN, 52 weeks',
      (i) => ({ asins: [asinAt(i)], startDate: '2025-01-01', limit: 1000 }),
    ],
  ];
  const measure = async (callAt: (i: number) => string | object) => {
    const taken: number[] = [];
    let failures = 0;
    for (let i = 0; i < CALLS; i += 1) {
      const { ms, isGood } = await askOnce(url, key, callAt(i));
      taken.push(ms);
      if (!isGood) failures += 1;
    }
    taken.sort((a, b) => a - b);
    const at = (share: number) => taken[Math.floor(taken.length * share)] ?? 0;
    return { p50: at(0.5), p95: at(0.95), failures };
  };

  const rows: Row[] = [];
  for (const [what, callAt] of calls) {
    const { p50, p95, failures } = await measure(callAt);
    const limitMs = what.startsWith('asin-reverse') ? 200 : 50;
    rows.push({
      what: `${what}, ${TERMS} terms`,
      ours: `p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms`,
      baseline: `${limitMs} ms`,
      ratio: p95 / limitMs,
      aim: 'at most 1',
      failures,
    });
  }
  return rows;
}

async function askOnce(
  url: string,
  key: string,
  call: string | object,
): Promise<{ ms: number; isGood: boolean }> {
  const [path, init] =
    typeof call === 'string'
      ? [call, {}]
      : [
          'asin-reverse',
          { method: 'POST', body: JSON.stringify(call), headers: { 'content-type': 'application/json' } },
        ];
  const startedAt = performance.now();
  const response = await fetch(`${url}/api/aba/${path}`, {
    ...init,
    headers: { ...init.headers, 'x-api-key': key },
  });
  await response.arrayBuffer();
  return { ms: performance.now() - startedAt, isGood: response.ok };
}

/** Milliseconds a question takes while so many weeks are loaded, medians of many. */
export interface WeekTimings {
  weeks: number;
  rank: number;
  search: number;
  history: number;
}

/** Asks PostgreSQL about the newest week, and for a history of all weeks there are. */
export async function timeWithWeeks({ database }: Services): Promise<WeekTimings> {
  const loaded = await loadedWeeks(database, 'us');
  const [newest] = loaded;
  if (!newest) throw new Error('no week is loaded');
  const { rows: words } = await database.query<{ id: number }>(
    `select term_id as id from ${newest.table} order by rank`,
  );
  const medianMs = async (ask: (i: number) => Promise<unknown>) => {
    const taken: number[] = [];
    for (let i = 0; i < CALLS; i += 1) {
      const startedAt = performance.now();
      await ask(i);
      taken.push(performance.now() - startedAt);
    }
    return taken.sort((a, b) => a - b)[CALLS / 2] ?? 0;
  };
  const walk = { filter: {}, to: newest.lastRank, count: 100 };
  return {
    weeks: loaded.length,
    rank: await medianMs((i) => walkRanks(database, newest, { ...walk, after: i * 17 })),
    search: await medianMs((i) =>
      searchTerms(database, 'us', loaded, { keyword: WORDS[i % WORDS.length] ?? '', limit: 20 }),
    ),
    history: await medianMs((i) => historyOf(database, words[i * 13]?.id ?? 0, loaded)),
  };
}

/** How times have grown with the number of weeks. */
export function weekRows(timings: readonly WeekTimings[]): Row[] {
  const [few, many] = [timings[0], timings.at(-1)];
  if (!few || !many) return [];
  const counts = timings.map(({ weeks }) => weeks).join(', ');
  const row = (what: string, name: 'rank' | 'search' | 'history', aim: string, ratio: number): Row => ({
    what: `${what}, with ${counts} weeks loaded`,
    ours: timings.map((timing) => `${timing[name].toFixed(1)} ms`).join(', '),
    baseline: `${few[name].toFixed(1)} ms`,
    ratio,
    aim,
    failures: 0,
  });
  return [
    row('a page of ranks in PostgreSQL', 'rank', 'at most 1.5', many.rank / few.rank),
    row('a search in PostgreSQL', 'search', 'at most 1.5', many.search / few.search),
    row(
      'a history of all of them in PostgreSQL',
      'history',
      'at most 1.5 a week',
      many.history / few.history / (many.weeks / few.weeks),
    ),
  ];
}
