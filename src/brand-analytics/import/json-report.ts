import type { Readable } from 'node:stream';
import { JSONParser } from '@streamparser/json';
import { z } from 'zod';
import { asinToNumber } from '../../keywords/asin-number.ts';
import { isSaturday } from '../../keywords/report-week.ts';
import type { Report, ReportBatch, ReportProduct, ReportRow, StagedPiece } from './report.ts';
import { ReportError } from './report-error.ts';

const specification = z.object({
  reportType: z.literal('GET_BRAND_ANALYTICS_SEARCH_TERMS_REPORT'),
  reportOptions: z.object({ reportPeriod: z.literal('WEEK') }),
  dataEndTime: z.string(),
  marketplaceIds: z.array(z.string()),
});

/** One product of one term; up to three follow each other. */
interface Entry {
  departmentName: string;
  searchTerm: string;
  searchFrequencyRank: number;
  clickedAsin: string;
  clickedItemName: string | undefined;
  clickShareRank: number;
  clickShare: number;
  conversionShare: number | undefined;
}

/** Places beyond the third are left out. */
const PLACES = 3;

/** Reads a report of the API, as it was unpacked. Its entries are put together to one row a term. */
export function readJsonReport(bytes: Readable, stage: (batch: ReportBatch) => Promise<StagedPiece>): Report {
  let week: string | null = null;
  let marketplaceIds: readonly string[] = [];
  let entries = 0;
  let batch: ReportRow[] = [];
  let open: ReportRow | undefined;

  function onValue({ value, key }: { value?: unknown; key?: string | number | undefined }): void {
    if (key === 'reportSpecification') {
      const parsed = specification.safeParse(value);
      if (!parsed.success)
        throw new ReportError('reportSpecification is not that of a weekly search-terms report.');
      week = parsed.data.dataEndTime.slice(0, 10);
      if (!isSaturday(week)) throw new ReportError(`dataEndTime ${week} is no Saturday.`);
      marketplaceIds = parsed.data.marketplaceIds;
      return;
    }
    entries += 1;
    const entry = entryOf(value, entries);
    const { departmentName: department, searchTerm: term, searchFrequencyRank: rank } = entry;
    if (!open || open.term !== term || open.department !== department || open.rank !== rank) {
      if (open) batch.push(open);
      open = { at: entries, department, term, rank, brands: [], categories: [], products: [] };
    }
    const place = entry.clickShareRank - 1;
    if (place >= PLACES) return;
    if (open.products[place])
      throw badEntry(entries, `place ${entry.clickShareRank} of "${term}" is taken already`);
    open.products[place] = productOf(entry);
  }

  const staged = (rows: ReportRow[]) => stage({ rows, dated: null, fault: null });

  async function* pieces(): AsyncGenerator<StagedPiece> {
    const parser = new JSONParser({
      paths: ['$.reportSpecification', '$.dataByDepartmentAndSearchTerm.*'],
      keepStack: false,
      stringBufferSize: 65_536,
    });
    parser.onValue = onValue;
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      try {
        parser.write(chunk);
      } catch (error) {
        if (error instanceof ReportError) throw error;
        throw new ReportError(`After entry ${entries}: this is not JSON (${(error as Error).message}).`);
      }
      if (batch.length > 0) yield await staged(batch);
      batch = [];
    }
    // A download that was cut must not become a published week.
    if (!parser.isEnded) throw new ReportError(`After entry ${entries}: the file breaks off.`);
    if (week === null) throw new ReportError('The document has no reportSpecification.');
    if (open) yield await staged([open]);
  }

  return { source: 'api', pieces: pieces(), facts: () => ({ week, marketplaceIds }) };
}

function productOf({ clickedAsin, clickedItemName, clickShare, conversionShare }: Entry): ReportProduct {
  // Fractions have four decimals: hundredths of a percent lose nothing.
  const hundredths = (share: number) => Math.round(share * 10_000);
  return {
    asin: asinToNumber(clickedAsin),
    title: clickedItemName ?? '',
    click: hundredths(clickShare),
    conversion: conversionShare === undefined ? -1 : hundredths(conversionShare),
  };
}

/** Twelve million of them come by, so they are looked at by hand. */
function entryOf(value: unknown, number: number): Entry {
  if (typeof value !== 'object' || value === null) throw badEntry(number, 'it is no object');
  const entry = value as Record<string, unknown>;
  const { clickedItemName, conversionShare } = entry;
  const wanted = (name: string, isGood: (value: unknown) => boolean, what: string) => {
    if (!isGood(entry[name])) throw badEntry(number, `${name} ${String(entry[name])} is no ${what}`);
  };
  wanted('departmentName', isText, 'text');
  wanted('searchTerm', isText, 'text');
  wanted('searchFrequencyRank', isPlace, 'positive whole number');
  wanted('clickShareRank', isPlace, 'positive whole number');
  wanted('clickedAsin', isAsin, 'ASIN');
  wanted('clickShare', isFraction, 'share from 0 to 1');
  if (conversionShare !== undefined && conversionShare !== null)
    wanted('conversionShare', isFraction, 'share from 0 to 1');
  return {
    ...(entry as unknown as Entry),
    conversionShare: (conversionShare as number | null) ?? undefined,
    clickedItemName: isText(clickedItemName) ? (clickedItemName as string) : undefined,
  };
}

const isText = (value: unknown) => typeof value === 'string';
const isAsin = (value: unknown) => typeof value === 'string' && /^[A-Z0-9]{10}$/.test(value);
const isPlace = (value: unknown) =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 2e9;
const isFraction = (value: unknown) => typeof value === 'number' && value >= 0 && value <= 1;

function badEntry(number: number, reason: string): ReportError {
  return new ReportError(`Entry ${number}: ${reason}.`);
}
