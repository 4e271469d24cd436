import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { asinOfNumber } from '../../src/brand-analytics/asin-number.ts';
import { importWeek } from '../../src/brand-analytics/import/import-week.ts';
import { type QueuedName, queuedOperation } from '../../src/operations/index.ts';
import { addDays } from '../../src/platform/calendar.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { programArguments } from '../../src/platform/project.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';

const WEEK = '2026-10-31';
const TERMS = 1_000_000;
/** Smaller, older weeks, so that histories have their full length. */
const SAMPLE_WEEKS = 52;
const SAMPLE_TERMS = 2_000;

/**
 * Measures two weeks of a million terms: the import compared with a plain COPY, the disk space, and the latency of each
 * endpoint.
 */
export async function brandAnalyticsRows(services: Services): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-bench-aba-'));
  const fileOf = (week: string) => join(folder, `us-${week}.csv`);
  const weekBefore = addDays(WEEK, -7);
  const samples = Array.from({ length: SAMPLE_WEEKS }, (_, i) =>
    addDays(weekBefore, -7 * (SAMPLE_WEEKS - i)),
  );
  try {
    await generateReports(folder, SAMPLE_TERMS, samples);
    await generateReports(folder, TERMS, [weekBefore, WEEK]);
    // Weeks are loaded in order of time, so that no later week has to be compared again.
    for (const week of samples) await load(services, fileOf(week));
    const withoutAMillion = await sizes(services);
    const imports = [await importRow(services, fileOf(weekBefore), 'all new')];
    const withOne = await sizes(services);
    imports.push(await importRow(services, fileOf(WEEK), 'most known'));
    const withTwo = await sizes(services);
    console.table(
      Object.keys(withTwo).map((part) => ({
        part,
        'bytes a term, first week': perTerm(withOne, withoutAMillion, part),
        'bytes a term, further week': perTerm(withTwo, withOne, part),
      })),
    );
    return [...imports, ...(await latencyRows(services))];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function perTerm(after: Record<string, number>, before: Record<string, number>, part: string): number {
  return Math.round(((after[part] ?? 0) - (before[part] ?? 0)) / TERMS);
}

/** Writes reports of `us` to a folder. */
export async function generateReports(
  folder: string,
  terms: number,
  weeks: readonly string[],
): Promise<void> {
  const program = programArguments('demo/reports/main.ts');
  const wanted = weeks.map((week) => `us:${week}`);
  const child = spawn(process.execPath, [...program, folder, String(terms), ...wanted], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await new Promise((resolve) => child.once('exit', resolve));
}

export async function load({ database }: Services, path: string): Promise<void> {
  const file = createReadStream(path, { highWaterMark: 2 ** 20 });
  await importWeek(database, { file, site: 'us', provider: 'amazon', now: Date.now(), onProgress: () => {} });
}

/** Measures, one after the other on the same rows: a plain COPY of the file, and the import. */
async function importRow(services: Services, file: string, terms: string): Promise<Row> {
  const { size } = await stat(file);
  const bareMs = await bareCopyMs(services.database, file);
  const startedAt = performance.now();
  await load(services, file);
  const importMs = performance.now() - startedAt;
  const text = (ms: number) => `${Math.round(TERMS / ms)}k rows/s, ${(ms / 1000).toFixed(1)} s`;
  return {
    what: `import of ${TERMS} terms, ${terms} (${Math.round(size / 1e6)} MB of CSV) / bare COPY of that CSV, 21 text columns, no index`,
    ours: text(importMs),
    baseline: text(bareMs),
    ratio: bareMs / importMs,
    aim: 'none',
    failures: 0,
  };
}

/**
 * Returns the milliseconds of a COPY of a report's file into a new table of text columns without index, in one
 * transaction, like the import.
 */
async function bareCopyMs(database: Database, file: string): Promise<number> {
  const columns = Array.from({ length: 21 }, (_, i) => `c${i} text`).join(', ');
  const start = await startOfSecondLine(file);
  const client = await database.connect();
  try {
    const startedAt = performance.now();
    await client.query('begin');
    await client.query(`create table bare (${columns})`);
    await pipeline(
      createReadStream(file, { start, highWaterMark: 2 ** 20 }),
      client.query(copyFrom('copy bare from stdin (format csv, header true)')),
    );
    await client.query('commit');
    const ms = performance.now() - startedAt;
    await client.query('drop table bare');
    return ms;
  } finally {
    client.release();
  }
}

async function startOfSecondLine(file: string): Promise<number> {
  for await (const chunk of createReadStream(file)) return (chunk as Buffer).indexOf('\n') + 1;
  return 0;
}

async function sizes({ database }: Services): Promise<Record<string, number>> {
  const { rows } = await database.query<{ part: string; bytes: number }>(
    `select case when i.indexrelid is null then regexp_replace(c.relname, '_[0-9]+$', '')
        else 'index of ' || regexp_replace(t.relname, '_[0-9]+$', '') || ': ' || pg_get_indexdef(i.indexrelid, 1, true) end as part,
      sum(pg_relation_size(c.oid))::bigint as bytes
      from pg_class c left join pg_index i on i.indexrelid = c.oid left join pg_class t on t.oid = i.indrelid
      where c.relname like 'aba\\_%us%' and c.relkind in ('r', 'i') group by 1 order by 1`,
  );
  return Object.fromEntries(rows.map(({ part, bytes }) => [part, bytes]));
}

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

/** Measures sequential calls of each endpoint, over HTTP through queue and worker. */
async function latencyRows(services: Services): Promise<Row[]> {
  const { url } = await services.startSouk('http://127.0.0.1:9');
  const [key = ''] = await services.keys(1);
  const rows: Row[] = [];
  const calls = await callsOf(services.database);
  // A warm-up, because new processes still compile code.
  for (let n = 0; n < WARM_UP_CALLS; n += 1)
    await askOnce(url, key, 'aba.rank', { country: 'us', limit: 199, afterRank: n * 1_009 });
  for (const call of calls) {
    const whole = await percentiles((n) => askOnce(url, key, call.operation, call.input(n)));
    const { limitMs = LIMIT_MS } = call;
    rows.push({
      what: `${call.what}, ${TERMS} terms`,
      ours: `p50 ${whole.p50.toFixed(0)} ms, p95 ${whole.p95.toFixed(0)} ms`,
      baseline: `${limitMs} ms`,
      ratio: whole.p95 / limitMs,
      aim: 'at most 1',
      failures: whole.failures,
    });
  }
  return rows;
}

async function callsOf(database: Database): Promise<Call[]> {
  const { rows: words } = await database.query<{ id: number; asin: number }>(
    'select term_id as id, asin1 as asin from aba_ranks where site = 1 and week = $1 and rank % 331 = 0',
    [WEEK],
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
      what: 'search, English',
      operation: 'aba.search',
      input: (n) => ({ country, keyword: keyword(n), limit: 1 + (n % 100) }),
    },
    { what: 'history, 52 weeks', operation: 'aba.wordhistory', input: (n) => ({ wordId: wordId(n) }) },
    {
      what: 'goods',
      operation: 'aba.wordgoods',
      input: (n) => ({ wordId: wordId(n), country, reportDate: WEEK }),
    },
    {
      what: 'asin-reverse, 50 ASINs',
      operation: 'aba.asinreverse',
      limitMs: 200,
      input: (n) => ({ asins: Array.from({ length: 50 }, (_, i) => asin(n * 50 + i)) }),
    },
  ];
}

export async function percentiles(
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
