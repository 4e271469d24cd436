import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { importWeek } from '../../src/brand-analytics/import/import-week.ts';
import { addDays } from '../../src/keywords/report-week.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';

const WEEK = '2026-10-31';
const TERMS = 1_000_000;
/** Older weeks, smaller ones, so that histories have their length. */
const SAMPLE_WEEKS = 51;
const SAMPLE_TERMS = 5_000;
const CALLS = 100;
const WORDS = 'tent,dog bed,shampoo,usb charger,pillow,yoga mat,gift,wooden,for cats,kite'.split(',');
const BRANDS = ['Acme', 'Globex', 'Umbra', 'Kestrel', 'Lumio', 'Nobody'];

/** A week of a million terms: what importing it costs against a bare COPY, on disk, and what each endpoint takes. */
export async function brandAnalyticsRows(services: Services): Promise<Row[]> {
  const { database } = services;
  const folder = await mkdtemp(join(tmpdir(), 'souk-bench-aba-'));
  try {
    const samples = Array.from({ length: SAMPLE_WEEKS }, (_, i) => addDays(WEEK, -7 * (SAMPLE_WEEKS - i)));
    await generate(folder, SAMPLE_TERMS, samples);
    await generate(folder, TERMS, [WEEK]);
    const fileOf = (week: string) => join(folder, `us-${week}.csv`);
    console.log('generated');
    const bareMs = await timed(() => bareCopy(services, fileOf(WEEK)));
    const load = (week: string) =>
      importWeek(database, {
        file: createReadStream(fileOf(week), { highWaterMark: 2 ** 20 }),
        site: 'us',
        now: Date.now(),
      });
    console.log(`bare COPY ${Math.round(bareMs)} ms`);
    for (const week of samples) await load(week);
    console.log('sample weeks loaded');
    const before = await sizes(services);
    let highest = 0;
    const watch = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage().rss);
    }, 100);
    const importMs = await timed(() => load(WEEK));
    clearInterval(watch);
    const after = await sizes(services);
    console.table(
      Object.keys(after).map((part) => {
        const bytes = (after[part] ?? 0) - (before[part] ?? 0);
        return { part, bytes, 'bytes a term': Math.round(bytes / TERMS) };
      }),
    );
    const { size } = await stat(fileOf(WEEK));
    const rate = (ms: number) => `${Math.round(TERMS / (ms / 1000))} rows/s`;
    return [
      {
        what: `import of ${TERMS} terms (${Math.round(size / 1e6)} MB of CSV, all but a few new) / bare COPY of the same rows`,
        ours: `${rate(importMs)}, memory at most ${Math.round(highest / 2 ** 20)} MB`,
        baseline: rate(bareMs),
        ratio: bareMs / importMs,
        aim: 'at least 0.5',
        failures: 0,
      },
      ...(await latencies(services)),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function generate(folder: string, terms: number, weeks: readonly string[]): Promise<void> {
  const program = ['--import', 'tsx', 'src/upstream/demo/reports/main.ts'];
  const wanted = weeks.map((week) => `us:${week}`);
  const child = spawn(process.execPath, [...program, folder, String(terms), ...wanted], { stdio: 'inherit' });
  await new Promise((resolve) => child.once('exit', resolve));
}

/** The file as it is, into a table of text columns without an index. */
async function bareCopy({ database }: Services, file: string): Promise<void> {
  const columns = Array.from({ length: 21 }, (_, i) => `c${i} text`).join(', ');
  const client = await database.connect();
  try {
    await client.query(`create table bare (${columns})`);
    const secondLine = await startOfSecondLine(file);
    const copy = client.query(copyFrom('copy bare from stdin with (format csv, header true)'));
    await pipeline(createReadStream(file, { start: secondLine, highWaterMark: 2 ** 20 }), copy);
    await client.query('drop table bare');
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

/** Each endpoint over HTTP, through queue and worker, one call after the other, none twice. */
async function latencies(services: Services): Promise<Row[]> {
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
  const rows: Row[] = [];
  for (const [what, callAt] of calls) {
    const taken: number[] = [];
    let failures = 0;
    for (let i = 0; i < CALLS; i += 1) {
      const call = callAt(i);
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
      taken.push(performance.now() - startedAt);
      if (!response.ok) failures += 1;
    }
    taken.sort((a, b) => a - b);
    const at = (share: number) => taken[Math.floor(taken.length * share)] ?? 0;
    const limitMs = what.startsWith('asin-reverse') ? 200 : 50;
    rows.push({
      what: `${what}, ${TERMS} terms`,
      ours: `p50 ${at(0.5).toFixed(0)} ms, p95 ${at(0.95).toFixed(0)} ms`,
      baseline: `${limitMs} ms`,
      ratio: at(0.95) / limitMs,
      aim: 'at most 1',
      failures,
    });
  }
  return rows;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
