import { Readable } from 'node:stream';
import { termAt } from '../demo/reports/vocabulary.ts';
import type { AskNames } from '../src/brand-analytics/import/names.ts';
import { openReport } from '../src/brand-analytics/import/open-report.ts';
import { openStaging } from '../src/brand-analytics/import/staging.ts';

/**
 * `import-memory.ts MB csv|json`: reads a generated report of that size as the import does, up to the bytes for COPY, and
 * prints the number of terms and the highest memory of the process.
 */
const wantedBytes = Number(process.argv[2]) * 1e6;

/** All terms and products differ, so that any retained data would grow. */
const keyword = (n: number) => `${termAt('us', n).term} ${n}`;
const asin = (n: number, place: number) =>
  `B0${((n * 3 + place) % 36 ** 5).toString(36).toUpperCase().padStart(8, '0')}`;

function* csv(): Generator<string> {
  yield 'Reporting Range=["Weekly"],Select week=["2026-10-25 - 2026-10-31"]\n';
  yield `${Array.from({ length: 21 }, (_, i) => `Column ${i}`).join(',')}\n`;
  for (let n = 0; ; n += 1) {
    const products = [0, 1, 2].map(
      (place) =>
        `${asin(n, place)},"A product of ${n} with a title, ""as long"" as most are, black, 2 pack",${12 - place}.34,1.5`,
    );
    const labels = `Brand ${n % 300_000},Brand ${(n * 7) % 300_000},,Home,Kitchen,`;
    yield `${n + 1},${keyword(n)},${labels},${products.join(',')},2026-10-31\n`;
  }
}

function* json(): Generator<string> {
  yield '{"dataByDepartmentAndSearchTerm":[\n';
  for (let n = 0; ; n += 1) {
    for (const place of [0, 1, 2])
      yield `${n + place > 0 ? ',\n' : ''}{"departmentName":"Amazon.com","searchTerm":"${keyword(n)}","searchFrequencyRank":${n + 1},"clickedAsin":"${asin(n, place)}","clickedItemName":"A product of ${n} with a title, \\"as long\\" as most are, black, 2 pack","clickShareRank":${place + 1},"clickShare":0.1234,"conversionShare":0.015}`;
  }
}

/** The end of the API document. */
const JSON_END = `],"reportSpecification":{"reportType":"GET_BRAND_ANALYTICS_SEARCH_TERMS_REPORT","reportOptions":{"reportPeriod":"WEEK"},"dataEndTime":"2026-10-31","marketplaceIds":["ATVPDKIKX0DER"]}}`;

const CHUNK_BYTES = 1_048_576;

async function* bytes(parts: Iterable<string>, end: string): AsyncGenerator<Buffer> {
  let sent = 0;
  let text = '';
  for (const part of parts) {
    text += part;
    if (text.length < CHUNK_BYTES) continue;
    yield Buffer.from(text);
    sent += text.length;
    text = '';
    if (sent >= wantedBytes) break;
  }
  yield Buffer.from(end);
}

/** Replaces the database: any id is valid. */
const ask: AskNames = async ({ brand, category, department }) => ({
  brand: brand.map((name) => [name, 1000 + name.length]),
  category: category.map((name) => [name, 1000 + name.length]),
  department: department.map((name, i) => [name, i + 1]),
});

let peak = 0;
const file = process.argv[3] === 'json' ? bytes(json(), JSON_END) : bytes(csv(), '\n');
const report = await openReport(Readable.from(file, { objectMode: false }));
const { stage } = openStaging('us', ask);
let rows = 0;
for await (const batch of report.batches) {
  await stage(batch);
  rows += batch.length;
  peak = Math.max(peak, process.memoryUsage.rss());
}
console.log(JSON.stringify({ rows, peakMb: Math.round(peak / 2 ** 20) }));
