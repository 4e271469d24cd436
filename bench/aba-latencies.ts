import { asinOfNumber } from '../src/brand-analytics/asin-number.ts';
import { walkRanks } from '../src/brand-analytics/rank-walk.ts';
import { searchTerms } from '../src/brand-analytics/search.ts';
import { loadedWeeks } from '../src/brand-analytics/weeks.ts';
import { historyOf } from '../src/brand-analytics/word.ts';
import type { QueuedOperation } from '../src/operations/define.ts';
import { type QueuedName, queuedOperation } from '../src/operations/index.ts';
import type { Database } from '../src/platform/db/pool.ts';
import type { Handler, HandlerContext } from '../workers/handlers/handler.ts';
import { HANDLERS } from '../workers/handlers/index.ts';
import type { CalledWeeks } from './aba-reports.ts';
import type { Row } from './row.ts';
import type { Services } from './services.ts';

const CALLS = 100;
const WARM_UP_CALLS = 100;
const WORDS = 'tent,dog bed,shampoo,usb charger,pillow,yoga mat,gift,wooden,for cats,kite'.split(',');
const BRANDS = ['Acme', 'Globex', 'Umbra', 'Kestrel', 'Lumio', 'Unknown'];

interface Call {
  what: string;
  operation: QueuedName;
  /** Limit of a full call, 95th percentile. Default: 50 ms. */
  limitMs?: number;
  /** Parameters of the n-th call; all calls differ. */
  input(n: number): Record<string, unknown>;
}

const LIMIT_MS = 50;

/** Measures sequential calls of each endpoint: reading alone, and full calls over HTTP through queue and worker. */
export async function abaLatencyRows(services: Services, weeks: CalledWeeks): Promise<Row[]> {
  const { url } = await services.startSouk('http://127.0.0.1:9');
  const [key = ''] = await services.keys(1);
  const rows: Row[] = [];
  const calls = await callsOf(services.database, weeks.newest);
  // A warm-up, because new processes still compile code.
  for (let n = 0; n < WARM_UP_CALLS; n += 1)
    await askOnce(url, key, 'aba.rank', { country: 'us', limit: 199, afterRank: n * 1_009 });
  for (const call of calls) {
    const read = await percentiles((n) => readOnce(services.database, call.operation, call.input(n)));
    const whole = await percentiles((n) => askOnce(url, key, call.operation, call.input(CALLS + n)));
    const { limitMs = LIMIT_MS } = call;
    rows.push({
      what: `${call.what}, ${weeks.terms} terms`,
      ours: `p50 ${whole.p50.toFixed(0)} ms, p95 ${whole.p95.toFixed(0)} ms; of it reading p50 ${read.p50.toFixed(0)} ms, p95 ${read.p95.toFixed(0)} ms`,
      baseline: `${limitMs} ms`,
      ratio: whole.p95 / limitMs,
      aim: 'at most 1',
      failures: read.failures + whole.failures,
    });
  }
  return rows;
}

async function callsOf(database: Database, newest: string): Promise<Call[]> {
  const { rows: words } = await database.query<{ id: number; asin: number }>(
    'select term_id as id, asin1 as asin from aba_ranks where site = 1 and week = $1 and rank % 331 = 0',
    [newest],
  );
  const wordId = (n: number) => words[(n * 17) % words.length]?.id;
  const asin = (n: number) => asinOfNumber(words[(n * 13) % words.length]?.asin ?? 0);
  const keyword = (n: number) => WORDS[n % WORDS.length] ?? '';
  const brand = (n: number) => BRANDS[n % BRANDS.length];
  const country = 'us';
  return [
    {
      what: 'rank, a page at any depth',
      operation: 'aba.rank',
      input: (n) => ({ country, afterRank: n * 4_973 }),
    },
    {
      what: 'rank, 1000 rows',
      operation: 'aba.rank',
      input: (n) => ({ country, limit: 1000, afterRank: n * 4_967 }),
    },
    {
      what: 'rank by keyword',
      operation: 'aba.rank',
      input: (n) => ({ country, keyword: keyword(n), afterRank: n * 101 }),
    },
    {
      what: 'rank by part of a word',
      operation: 'aba.rank',
      input: (n) => ({ country, keyword: keyword(n).slice(0, 3), afterRank: n * 101 }),
      limitMs: 200,
    },
    {
      what: 'rank by brand and category',
      operation: 'aba.rank',
      input: (n) => ({ country, brand: brand(n), category: 'cats', afterRank: n * 53 }),
    },
    {
      what: 'rank by keyword, brand, sums',
      operation: 'aba.rank',
      input: (n) => ({
        country,
        keyword: keyword(n),
        brand: brand(n),
        clickSumMin: n % 100,
        convSumMin: n % 90,
      }),
    },
    {
      what: 'rank, new ones',
      operation: 'aba.rank',
      input: (n) => ({ country, fluctuationType: 'new', afterRank: n * 4_111 }),
    },
    {
      what: 'search, English',
      operation: 'aba.search',
      input: (n) => ({ country, keyword: keyword(n), limit: 1 + (n % 100) }),
    },
    {
      what: 'search, one Chinese character',
      operation: 'aba.search',
      input: (n) => ({ country, keyword: '手机猫粮雨'[n % 5], limit: 1 + (n % 100) }),
    },
    { what: 'word, 52 weeks', operation: 'aba.word', input: (n) => ({ wordId: wordId(n) }) },
    { what: 'history, 52 weeks', operation: 'aba.wordhistory', input: (n) => ({ wordId: wordId(n) }) },
    {
      what: 'goods',
      operation: 'aba.wordgoods',
      input: (n) => ({ wordId: wordId(n), country, reportDate: newest }),
    },
    {
      what: 'asin-reverse, 50 ASINs',
      operation: 'aba.asinreverse',
      limitMs: 200,
      input: (n) => ({ asins: Array.from({ length: 50 }, (_, i) => asin(n * 50 + i)) }),
    },
    {
      what: 'asin-reverse, one ASIN, 52 weeks',
      operation: 'aba.asinreverse',
      limitMs: 200,
      input: (n) => ({ asins: [asin(n)], startDate: '2025-01-01', limit: 1000 }),
    },
  ];
}

async function percentiles(
  doOnce: (n: number) => Promise<boolean>,
): Promise<{ p50: number; p95: number; failures: number }> {
  const taken: number[] = [];
  let failures = 0;
  for (let n = 0; n < CALLS; n += 1) {
    const startedAt = performance.now();
    if (!(await doOnce(n))) failures += 1;
    taken.push(performance.now() - startedAt);
  }
  taken.sort((a, b) => a - b);
  const at = (share: number) => taken[Math.floor(taken.length * share)] ?? 0;
  return { p50: at(0.5), p95: at(0.95), failures };
}

/** Reads the data of a call, as a worker does. */
async function readOnce(
  database: Database,
  name: QueuedName,
  given: Record<string, unknown>,
): Promise<boolean> {
  const operation = queuedOperation(name);
  if (!operation) return false;
  const handler = HANDLERS[name] as Handler<QueuedOperation>;
  const input = operation.params.parse(given);
  const context = {
    sources: operation.source(input),
    upstream: { reports: { database, provider: 'amazon' } },
    useEdition() {},
  };
  const found = await handler(input, context as unknown as HandlerContext);
  return found.size > 0;
}

async function askOnce(
  url: string,
  key: string,
  name: QueuedName,
  input: Record<string, unknown>,
): Promise<boolean> {
  const [route] = queuedOperation(name)?.routes ?? [];
  if (!route) return false;
  const { wordId, ...others } = input;
  const path = route.path.replace(':wordId', String(wordId));
  const query = new URLSearchParams(Object.entries(others).map(([name, value]) => [name, String(value)]));
  const response =
    route.method === 'GET'
      ? await fetch(`${url}${path}?${query}`, { headers: { 'x-api-key': key } })
      : await fetch(`${url}${path}`, {
          method: route.method,
          body: JSON.stringify(input),
          headers: { 'x-api-key': key, 'content-type': 'application/json' },
        });
  await response.arrayBuffer();
  return response.ok;
}

/** Median milliseconds of queries with a number of loaded weeks. */
export interface WeekTimings {
  weeks: number;
  rank: number;
  search: number;
  history: number;
}

/** Queries PostgreSQL for the newest week, and for a history of all loaded weeks. */
export async function timeWithWeeks({ database }: Services): Promise<WeekTimings> {
  const loaded = await loadedWeeks(database, 'amazon', 'us');
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

/** Returns rows with the growth of query times by number of weeks. */
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
