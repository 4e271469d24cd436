import { Readable } from 'node:stream';
import Papa from 'papaparse';
import { vi } from 'vitest';
import { importWeek } from '../../src/brand-analytics/import/import-week.ts';
import type { ReportSite } from '../../src/operations/brand-analytics/keywords.ts';
import { addDays } from '../../src/platform/calendar.ts';
import type { Database } from '../../src/platform/db/pool.ts';

export interface TestTerm {
  term: string;
  rank: number;
  brands?: string[];
  categories?: string[];
  /** ASIN, title, click share and conversion share; shares as text of the file. */
  products?: [string, string, string, string][];
}

/** The provider of the reports of tests. */
export const REPORTS = 'amazon';

const COLUMNS = 21;
const NOW = Date.parse('2026-05-01T00:00:00Z');

/** A file in the present layout. Column names are arbitrary, because they depend on the language. */
export function csvReport(week: string, terms: readonly TestTerm[], line1?: string): string {
  const first =
    line1 ?? `Reporting Range=["Weekly"],Select week=["Week | ${addDays(week, -6)} - ${week} 2026"]`;
  const names = Array.from({ length: COLUMNS }, (_, i) => `Spalte ${i + 1}`).join(',');
  const rows = terms.map(({ term, rank, brands = [], categories = [], products = [] }) => [
    rank,
    term,
    ...[0, 1, 2].map((i) => brands[i] ?? ''),
    ...[0, 1, 2].map((i) => categories[i] ?? ''),
    ...[0, 1, 2].flatMap((i) => products[i] ?? ['', '', '', '']),
    week,
  ]);
  return `\uFEFF${first}\n${names}\n${Papa.unparse(rows, { newline: '\n' })}\n`;
}

/** The ranks of some terms in the order given, from 1. */
export function ranked(...terms: string[]): TestTerm[] {
  return terms.map((term, i) => ({ term, rank: i + 1 }));
}

export function load(
  database: Database,
  site: ReportSite,
  content: string | Buffer,
  week?: string,
  provider = REPORTS,
  labelsFrom?: string,
) {
  return importWeek(database, { file: fileOf(content), site, week, provider, labelsFrom, now: NOW });
}

/** Waits until a service has this many generated reports for test keys; see `testReports` of `SoukOptions`. */
export async function testReportsLoaded({ database }: { database: Database }, weeks: number): Promise<void> {
  const areLoaded = async () => {
    const { rows } = await database.query('select from test_reports.aba_weeks');
    return rows.length >= weeks;
  };
  // expect.poll works in tests only, and not in hooks.
  await vi.waitUntil(areLoaded, { interval: 50, timeout: 60_000 });
}

function fileOf(content: string | Buffer): Readable {
  return Readable.from([Buffer.from(content)], { objectMode: false });
}

/** A document of the API. */
export function jsonReport(week: string, entries: unknown[], marketplaceId = 'A1F83G8C2ARO7P'): string {
  const reportSpecification = {
    reportType: 'GET_BRAND_ANALYTICS_SEARCH_TERMS_REPORT',
    reportOptions: { reportPeriod: 'WEEK' },
    dataStartTime: addDays(week, -6),
    dataEndTime: week,
    marketplaceIds: [marketplaceId],
  };
  return JSON.stringify({ reportSpecification, dataByDepartmentAndSearchTerm: entries });
}

export const reportEntry = (
  searchTerm: string,
  searchFrequencyRank: number,
  clickShareRank: number,
  more: object = {},
) => ({
  departmentName: 'Amazon.co.uk',
  searchTerm,
  searchFrequencyRank,
  clickedAsin: `B0ENTRY00${clickShareRank}`,
  clickShareRank,
  clickShare: 0.0719 / clickShareRank,
  conversionShare: 0.5,
  ...more,
});
