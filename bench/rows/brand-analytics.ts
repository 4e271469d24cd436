import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type ImportStage, importWeek } from '../../src/brand-analytics/import/import-week.ts';
import { addDays } from '../../src/operations/brand-analytics/keywords/report-week.ts';
import { abaLatencyRows, timeWithWeeks, type WeekTimings, weekRows } from '../aba-latencies.ts';
import { type CalledWeeks, generateReports, importMemory } from '../aba-reports.ts';
import { writeApiDocument } from '../api-document.ts';
import { bareCopyMs, finishedCopyMs } from '../bare-copies.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';

const WEEK = '2026-10-31';
const TERMS = 1_000_000;
/** Older weeks, smaller ones, so that histories have their length. */
const SAMPLE_WEEKS = 52;
const SAMPLE_TERMS = 2_000;

/** So many weeks are there when reading is timed. */
const TIMED_AT = [4, 26, 52];

/** Streams that are generated as they are read, and thrown away. */
const MEMORY_STREAMS_MB = [200, 2_000];

/**
 * Two weeks of a million terms: what importing costs against a bare COPY, and on disk; what each endpoint takes; what it
 * takes with few weeks and with many; and the memory of importing what is large.
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
    console.log('generated');
    const rows: Row[] = [];
    const timings: WeekTimings[] = [];
    // Weeks come in the order of time, so that none is compared anew.
    for (const [i, week] of samples.entries()) {
      await load(services, fileOf(week));
      if (TIMED_AT.includes(i + 1)) timings.push(await timeWithWeeks(services));
    }
    console.log('sample weeks loaded');
    rows.push(...weekRows(timings));
    const withoutAMillion = await sizes(services);
    rows.push(...(await importRows(services, fileOf(weekBefore), 'all of them new')));
    const withOne = await sizes(services);
    rows.push(...(await importRows(services, fileOf(WEEK), 'most of them known')));
    const withTwo = await sizes(services);
    rows.push(await documentRow(services, fileOf(WEEK), join(folder, 'document.json')));
    console.table(
      Object.keys(withTwo).map((part) => ({
        part,
        'bytes a term, first week': perTerm(withOne, withoutAMillion, part),
        'bytes a term, further week': perTerm(withTwo, withOne, part),
      })),
    );
    const weeks: CalledWeeks = { newest: WEEK, terms: TERMS };
    rows.push(...(await abaLatencyRows(services, weeks)));
    for (const format of ['csv', 'json'] as const)
      rows.push(...(await importMemory(format, MEMORY_STREAMS_MB)));
    return rows;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function perTerm(after: Record<string, number>, before: Record<string, number>, part: string): number {
  return Math.round(((after[part] ?? 0) - (before[part] ?? 0)) / TERMS);
}

async function load(
  { database }: Services,
  file: string,
  onStage: (stage: ImportStage) => void = () => {},
): Promise<void> {
  await importWeek(database, {
    file: createReadStream(file, { highWaterMark: 2 ** 20 }),
    site: 'us',
    now: Date.now(),
    onProgress: ({ stage }) => onStage(stage),
  });
}

/**
 * All in this run, on the same rows, one after the other: the file bare, the import with all that makes a week of it, and what
 * the import has made, bare again.
 */
async function importRows(services: Services, file: string, terms: string): Promise<Row[]> {
  const { size } = await stat(file);
  const { database } = services;
  const bareMs = await bareCopyMs(database, file);
  const startedAt = performance.now();
  /** When each stage was heard of last. */
  const at = { reading: 0, saving: 0, indexing: 0 };
  await load(services, file, (stage) => {
    at[stage] = performance.now() - startedAt;
  });
  const importMs = performance.now() - startedAt;
  const indexMs = importMs - at.indexing;
  const finishedMs = await finishedCopyMs(database, dirname(file));
  const rate = (ms: number) => `${Math.round(TERMS / ms)}k rows/s`;
  const what = `import of ${TERMS} terms, ${terms} (${Math.round(size / 1e6)} MB of CSV)`;
  return [
    {
      what: `${what} / bare COPY of that CSV, 21 text columns, no index`,
      ours: `${rate(importMs)}: read in ${seconds(at.saving)}, indexes of the week in ${seconds(indexMs)}, all in ${seconds(importMs)}; loading without these indexes ${rate(importMs - indexMs)}, ${(bareMs / (importMs - indexMs)).toFixed(2)} of bare`,
      baseline: `${rate(bareMs)}, ${seconds(bareMs)}`,
      ratio: bareMs / importMs,
      aim: 'at least 0.5',
      failures: 0,
    },
    {
      what: `${what} / bare COPY of the rows it makes, into a table with all their indexes`,
      ours: `${rate(importMs)}, ${seconds(importMs)}`,
      baseline: `${rate(finishedMs)}, ${seconds(finishedMs)}`,
      ratio: finishedMs / importMs,
      aim: 'at least 1',
      failures: 0,
    },
  ];
}

/** The same rows once more, as the API tells them: without brands and categories, so the download is loaded again behind them. */
async function documentRow(services: Services, csv: string, file: string): Promise<Row> {
  await writeApiDocument(csv, WEEK, file);
  const { size } = await stat(file);
  const bareMs = await bareCopyMs(services.database, csv);
  const startedAt = performance.now();
  let readMs = 0;
  await load(services, file, (stage) => {
    if (stage === 'saving') readMs = performance.now() - startedAt;
  });
  const importMs = performance.now() - startedAt;
  await load(services, csv);
  return {
    what: `import of ${TERMS} terms from the API's document (${Math.round(size / 1e6)} MB of JSON) / bare COPY of their CSV`,
    ours: `${Math.round(TERMS / importMs)}k rows/s: read in ${seconds(readMs)}, all in ${seconds(importMs)}`,
    baseline: `${Math.round(TERMS / bareMs)}k rows/s, ${seconds(bareMs)}`,
    ratio: bareMs / importMs,
    aim: 'none',
    failures: 0,
  };
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

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
