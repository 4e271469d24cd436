import { describeRows } from '../../src/brand-analytics/rank-row.ts';
import { walkRanks } from '../../src/brand-analytics/rank-walk.ts';
import { type LoadedWeek, weekOf } from '../../src/brand-analytics/weeks.ts';
import { EXPORT_TABLE, type ExportInput, exportWeek } from '../../src/operations/brand-analytics/export.ts';
import type { Row } from '../../src/operations/tables/columns.ts';
import { TABLE_FORMATS } from '../../src/operations/tables/formats.ts';
import { iso } from '../../src/platform/clock.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import {
  addFile,
  type Content,
  findContent,
  type StoredFile,
  writeContent,
} from '../../src/results/files.ts';
import { writeTable } from '../../src/results/tables/write-table.ts';
import type { HandlerContext, HandlersOf } from './handler.ts';
import { type Reports, readReports, weekIsGone } from './reports.ts';

/** How long the file of a call is kept. */
const FILE_LIFETIME_MS = 7 * DAY_MS;

/** Rows that are read in one statement. */
const PAGE_ROWS = 1_000;

/** A file that is about to be deleted may be gone before the account has it. */
const MOST_ATTEMPTS = 3;

/** Writes the file of a week, unless it is stored for this or another account. */
export const handleExport: HandlersOf<'aba'>['aba.export'] = async (input, context) => {
  const needed = exportWeek.reports?.(input);
  if (!needed) throw new Error('an export needs reports');
  for (let attempt = 1; ; attempt += 1) {
    const { week, content } = await readReports(context, needed, (reports) =>
      contentOf(reports, input, context),
    );
    const file = await fileOf(context, input, week, content);
    if (file) return new Map([['', answerOf(input, week, file)]]);
    if (attempt === MOST_ATTEMPTS) throw new Error(`the content ${content.contentId} was deleted`);
  }
};

async function contentOf(
  { database, weeks }: Reports,
  { country, reportDate, fileFormat }: ExportInput,
  { upstream, signal, cancelled, now, onProgress }: HandlerContext,
): Promise<{ week: LoadedWeek; content: Content }> {
  const week = weekOf(weeks, reportDate);
  if (!week) throw weekIsGone(country, reportDate);
  const { contentType, isCompressible } = TABLE_FORMATS[fileFormat];
  const { provider } = upstream.reports;
  const key = `aba/${provider}/${country}/${week.week}/${week.importId}/${fileFormat}`;
  const found = await findContent(upstream.files, key);
  if (found) return { week, content: found };
  let count = 0;
  async function* rows(): AsyncGenerator<Row> {
    for await (const page of pagesOf(database, week as LoadedWeek)) {
      yield* page;
      count += page.length;
      onProgress(Math.min(99, Math.floor((100 * count) / Math.max(1, (week as LoadedWeek).terms))));
    }
  }
  const about = { key, contentType, isGzip: isCompressible, facts: () => ({ rows: count }), now };
  const bytes = writeTable(fileFormat, EXPORT_TABLE, rows());
  return {
    week,
    content: await writeContent(upstream.files, { ...about, signals: [signal, cancelled] }, bytes),
  };
}

/** Yields the rows of a week by rank, a page at a time. */
async function* pagesOf(database: Reports['database'], week: LoadedWeek): AsyncGenerator<Row[]> {
  for (let after = 0; ; ) {
    const walk = { filter: {}, after, to: week.lastRank, count: PAGE_ROWS };
    const found = await walkRanks(database, week, walk);
    const last = found.at(-1);
    if (!last) return;
    const rows = await describeRows(database, week.site, found);
    yield rows.map((row) => flat(week, row));
    after = last.rank;
  }
}

type RankRow = Awaited<ReturnType<typeof describeRows>>[number];

function flat(
  { site: country, week: reportDate }: LoadedWeek,
  { goods, brands, categories, ...row }: RankRow,
): Row {
  const flattened: Record<string, unknown> = {
    country,
    reportDate,
    ...row,
    brands: joined(brands),
    categories: joined(categories),
  };
  for (const { position, asin, title, clickShare, conversionShare } of goods) {
    flattened[`asin${position}`] = asin;
    flattened[`title${position}`] = title;
    flattened[`clickShare${position}`] = clickShare;
    flattened[`conversionShare${position}`] = conversionShare;
  }
  return flattened;
}

const joined = (names: readonly string[]) => (names.length > 0 ? names.join('; ') : null);

function fileOf(
  { upstream, call, now }: HandlerContext,
  { country, fileFormat }: ExportInput,
  { week }: LoadedWeek,
  { contentId }: Content,
): Promise<StoredFile | null> {
  const createdAt = now();
  return addFile(upstream.files, {
    accountId: call.accountId,
    contentId,
    operation: exportWeek.name,
    originId: call.callId,
    name: `souk-terms-${country}-${week}.${fileFormat}`,
    createdAt,
    expiresAt: createdAt + FILE_LIFETIME_MS,
  });
}

function answerOf(
  { country }: ExportInput,
  { week: reportDate }: LoadedWeek,
  { fileId, name, contentType, size, expiresAt, facts }: StoredFile,
): Record<string, unknown> {
  const url = `/api/files/${fileId}`;
  const file = { fileId, name, contentType, size, expiresAt: iso(expiresAt), url };
  return { country, reportDate, rows: facts.rows, file };
}
