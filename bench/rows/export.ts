import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXPORT_FORMATS } from '../../src/operations/brand-analytics/export.ts';
import { reportOf } from '../probe-report.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';
import { generateReports, load } from './brand-analytics.ts';

const WEEK = '2026-10-31';
const WARM_UP = { week: '2026-10-24', terms: 50_000 };
/** BENCH_EXPORT_TERMS takes fewer, for a shorter run. */
const TERMS = Number(process.env.BENCH_EXPORT_TERMS ?? 1_000_000);
const MOST_MEMORY_MB = 256;
const LOOK_EVERY_MS = 500;
const DEADLINE_MS = 900_000;

/** Measures the export of a whole week in each format, from the request to the finished file, in a process that has written such files before. */
export async function exportRows(services: Services): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-bench-export-'));
  try {
    await generateReports(folder, WARM_UP.terms, [WARM_UP.week]);
    await generateReports(folder, TERMS, [WEEK]);
    for (const week of [WARM_UP.week, WEEK]) await load(services, join(folder, `us-${week}.csv`));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const { url, worker, gateway } = await services.startSouk('http://127.0.0.1:9');
  const [key = ''] = await services.keys(1);
  const rows: Row[] = [];
  // Otherwise the first format would have the growth of a process that has just started.
  for (const fileFormat of EXPORT_FORMATS) await exported(url, key, WARM_UP.week, fileFormat);
  for (const fileFormat of EXPORT_FORMATS) {
    for (const process of [worker, gateway]) process.send('reset');
    const startedAt = performance.now();
    const { rows: written = 0, size = 0 } = await exported(url, key, WEEK, fileFormat);
    const seconds = (performance.now() - startedAt) / 1000;
    const { memoryGrowthMb } = await reportOf(worker);
    const { longestBlockMs } = await reportOf(gateway);
    rows.push({
      figure: 'export',
      what: `export of a week of ${TERMS} terms as ${fileFormat}: growth of the worker's memory / ${MOST_MEMORY_MB} MB`,
      ours: `${seconds.toFixed(0)} s, ${Math.round(written / seconds / 1000)}k rows/s, ${(size / 1e6).toFixed(0)} MB, worker +${memoryGrowthMb.toFixed(0)} MB, longest block of the gateway ${longestBlockMs.toFixed(0)} ms`,
      baseline: `${MOST_MEMORY_MB} MB`,
      ratio: memoryGrowthMb / MOST_MEMORY_MB,
      aim: 'at most 1',
      failures: written === TERMS ? 0 : 1,
    });
  }
  return rows;
}

/** Asks for a file and waits until it is written. */
async function exported(
  url: string,
  key: string,
  reportDate: string,
  fileFormat: string,
): Promise<{ rows?: number; size?: number }> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const body = JSON.stringify({ country: 'us', reportDate, fileFormat });
  const deadline = performance.now() + DEADLINE_MS;
  let response = await fetch(`${url}/api/aba/export`, { method: 'POST', headers, body });
  const poll = new URL(response.headers.get('location') ?? '', url);
  while (response.status === 202 && performance.now() < deadline) {
    await response.arrayBuffer();
    await sleep(LOOK_EVERY_MS);
    response = await fetch(poll, { headers });
  }
  const { data } = (await response.json()) as { data?: { rows?: number; file?: { size: number } } };
  return {
    ...(data?.rows !== undefined && { rows: data.rows }),
    ...(data?.file && { size: data.file.size }),
  };
}
