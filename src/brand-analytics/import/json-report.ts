import type { Readable } from 'node:stream';
import { z } from 'zod';
import { isSaturday } from '../../operations/brand-analytics/keywords/report-week.ts';
import { openJsonFrame } from './json-frame.ts';
import { jsonPieces } from './json-pieces.ts';
import type { PieceReader } from './piece-reader.ts';
import { readInOrder } from './read-in-order.ts';
import type { Report, StagedPiece } from './report.ts';
import { ReportError } from './report-error.ts';

const specificationSchema = z.object({
  reportType: z.literal('GET_BRAND_ANALYTICS_SEARCH_TERMS_REPORT'),
  reportOptions: z.object({ reportPeriod: z.literal('WEEK') }),
  dataEndTime: z.string(),
  marketplaceIds: z.array(z.string()),
});

/** Reads an uncompressed report of the API: its specification and a list of entries. */
export function readJsonReport(bytes: Readable, reader: PieceReader): Report {
  const frame = openJsonFrame(readSpecification);
  let week: string | null = null;
  let marketplaceIds: readonly string[] = [];

  async function* entries() {
    for await (const piece of jsonPieces(bytes, frame)) yield { format: 'json' as const, ...piece };
  }

  async function* pieces(): AsyncGenerator<StagedPiece> {
    yield* readInOrder(entries(), reader);
    if (week === null) throw new ReportError('The document has no reportSpecification.');
  }

  /** The specification may be before or after the entries. */
  function readSpecification(value: unknown): void {
    const parsed = specificationSchema.safeParse(value);
    if (!parsed.success)
      throw new ReportError('reportSpecification must describe a weekly search-terms report.');
    week = parsed.data.dataEndTime.slice(0, 10);
    if (!isSaturday(week)) throw new ReportError(`dataEndTime ${week} is not a Saturday.`);
    marketplaceIds = parsed.data.marketplaceIds;
  }

  return { source: 'api', pieces: pieces(), facts: () => ({ week, marketplaceIds }) };
}
