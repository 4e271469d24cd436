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
/** Smaller, older weeks, so that histories have their full length. */
const SAMPLE_WEEKS = 52;
const SAMPLE_TERMS = 2_000;

/** Numbers of loaded weeks at which reading is timed. */
const TIMED_AT = [4, 26, 52];

/** Sizes of streams that are generated while they are read, and discarded. */
const MEMORY_STREAMS_MB = [200, 2_000];

/**
 * Measures two weeks of a million terms: the import compared with a plain COPY, the disk space, the latency of each
 * endpoint with few and with many weeks, and the memory for large imports.
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
    // Weeks are loaded in order of time, so that no later week has to be compared again.
    for (const [i, week] of samples.entries()) {
      await load(services, fileOf(week));
      if (TIMED_AT.includes(i + 1)) timings.push(await timeWithWeeks(services));
    }
    console.log('sample weeks loaded');
    rows.push(...weekRows(timings));
    const withoutAMillion = await sizes(services);
    rows.push(...(await importRows(services, fileOf(weekBefore), 'all new')));
    const withOne = await sizes(services);
    rows.push(...(await importRows(services, fileOf(WEEK), 'most known')));
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
    provider: 'amazon',
    now: Date.now(),
    onProgress: ({ stage }) => onStage(stage),
  });
}

/**
 * Measures, one after the other on the same rows: a plain COPY of the file, the full import, and a plain COPY of the
 * imported rows.
 */
async function importRows(services: Services, file: string, terms: string): Promise<Row[]> {
  const { size } = await stat(file);
  const { database } = services;
  const bareMs = await bareCopyMs(database, file);
  const startedAt = performance.now();
  /** The last progress time of each stage. */
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
      what: `${what} / bare COPY of the imported rows, into a table with all their indexes`,
      ours: `${rate(importMs)}, ${seconds(importMs)}`,
      baseline: `${rate(finishedMs)}, ${seconds(finishedMs)}`,
      ratio: finishedMs / importMs,
      aim: 'at least 1',
      failures: 0,
    },
  ];
}

/** Imports the same rows in the API's form, which lacks brands and categories; afterwards loads the CSV file again. */
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
