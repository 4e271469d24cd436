import type { Readable } from 'node:stream';
import { JSONParser } from '@streamparser/json';
import { z } from 'zod';
import { isSaturday } from '../../operations/brand-analytics/keywords/report-week.ts';
import { collectRows } from './json-rows.ts';
import type { Report, ReportBatch } from './report.ts';
import { ReportError } from './report-error.ts';
import { NotUtf8, utf8Pieces } from './utf8.ts';

const LIST = 'dataByDepartmentAndSearchTerm';

/** The limit of an entry. Without it, an unpaired quote or bracket would keep the rest of the file in memory. */
const LONGEST_ENTRY = 1_048_576;

const specificationSchema = z.object({
  reportType: z.literal('GET_BRAND_ANALYTICS_SEARCH_TERMS_REPORT'),
  reportOptions: z.object({ reportPeriod: z.literal('WEEK') }),
  dataEndTime: z.string(),
  marketplaceIds: z.array(z.string()),
});

/** Reads an uncompressed report of the API: its specification and a list of entries. */
export function readJsonReport(file: Readable): Report {
  let week: string | null = null;
  let marketplaceIds: readonly string[] = [];

  /** The specification may be before or after the entries. */
  function readSpecification(value: unknown): void {
    const parsed = specificationSchema.safeParse(value);
    if (!parsed.success)
      throw new ReportError('reportSpecification must describe a weekly search-terms report.');
    week = parsed.data.dataEndTime.slice(0, 10);
    if (!isSaturday(week)) throw new ReportError(`dataEndTime ${week} is not a Saturday.`);
    marketplaceIds = parsed.data.marketplaceIds;
  }

  async function* batches(): AsyncGenerator<ReportBatch> {
    const rows = collectRows();
    let bytesSinceValue = 0;
    const broken = (reason: string) => new ReportError(`After entry ${rows.entries}: ${reason}.`);
    const parser = new JSONParser({ paths: ['$.reportSpecification', `$.${LIST}.*`], keepStack: false });
    parser.onValue = ({ value, key }) => {
      bytesSinceValue = 0;
      if (key === 'reportSpecification') return readSpecification(value);
      if (key !== rows.entries) throw broken('the document has a second list of entries');
      rows.add(value);
    };
    try {
      for await (const piece of utf8Pieces(file)) {
        bytesSinceValue += piece.length;
        parse(piece);
        if (bytesSinceValue > LONGEST_ENTRY)
          throw new ReportError(`Entry ${rows.entries + 1}: longer than 1 MiB.`);
        yield rows.takeComplete();
      }
      // A partial download must not become a published week.
      if (!parser.isEnded) throw broken('the file is incomplete');
    } catch (error) {
      // The rows before it may have a fault that only the whole report shows.
      yield rows.takeAll();
      throw error instanceof NotUtf8 ? broken('the document is not JSON') : error;
    }
    yield rows.takeAll();
    if (week === null) throw new ReportError('The document has no reportSpecification.');

    function parse(piece: Buffer): void {
      try {
        parser.write(piece);
      } catch (error) {
        throw error instanceof ReportError ? error : broken('the document is not JSON');
      }
    }
  }

  return { source: 'api', batches: batches(), facts: () => ({ week, marketplaceIds }) };
}
