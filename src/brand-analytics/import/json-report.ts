import type { Readable } from 'node:stream';
import { JSONParser } from '@streamparser/json';
import { z } from 'zod';
import { isSaturday } from '../../operations/brand-analytics/keywords.ts';
import { asinToNumber } from '../asin-number.ts';
import {
  NotUtf8,
  type Report,
  type ReportBatch,
  ReportError,
  type ReportProduct,
  type ReportRow,
  utf8Pieces,
} from './report.ts';

/** One product of a term. Up to three consecutive entries have the same term. */
interface Entry {
  departmentName: string;
  searchTerm: string;
  searchFrequencyRank: number;
  clickedAsin: string;
  clickedItemName?: unknown;
  clickShareRank: number;
  clickShare: number;
  conversionShare?: number | null;
}

/** Lower places are left out. */
const PLACES = 3;

/** Collects the rows of consecutive entries. Entries of one term become one row. */
function collectRows() {
  let rows: ReportRow[] = [];
  let entries = 0;
  return {
    /** The number of valid entries. */
    get entries() {
      return entries;
    },
    /** @throws ReportError if the entry is invalid. */
    add(value: unknown): void {
      const number = entries + 1;
      const entry = checkEntry(value, number);
      const { departmentName: department, searchTerm: term, searchFrequencyRank: rank } = entry;
      let open = rows.at(-1);
      if (!open || open.term !== term || open.department !== department || open.rank !== rank) {
        open = { at: number, department, term, rank, brands: [], categories: [], products: [] };
        rows.push(open);
      }
      const place = entry.clickShareRank - 1;
      if (open.products[place])
        throw badEntry(number, `place ${entry.clickShareRank} of "${term}" occurs twice`);
      if (place < PLACES) open.products[place] = productOf(entry);
      entries = number;
    },
    /** Removes and returns the rows to which no entry can be added any more. */
    takeComplete(): ReportRow[] {
      const complete = rows.slice(0, -1);
      rows = rows.slice(-1);
      return complete;
    },
    takeAll(): ReportRow[] {
      return rows.splice(0);
    },
  };
}

function productOf({ clickedAsin, clickedItemName, clickShare, conversionShare }: Entry): ReportProduct {
  return {
    asin: asinToNumber(clickedAsin),
    title: typeof clickedItemName === 'string' ? clickedItemName : '',
    click: hundredths(clickShare),
    conversion: typeof conversionShare === 'number' ? hundredths(conversionShare) : -1,
  };
}

/** Fractions have four decimals, so hundredths of a percent are exact. */
const hundredths = (share: number) => Math.round(share * 10_000);

const isText = (value: unknown) => typeof value === 'string';
const isPlace = (value: unknown) =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 2e9;
const isAsin = (value: unknown) => typeof value === 'string' && /^[A-Z0-9]{10}$/.test(value);
const isFraction = (value: unknown) => typeof value === 'number' && value >= 0 && value <= 1;

/** Checked without a schema library, because a report has twelve million entries. */
const FIELDS: [name: keyof Entry, isGood: (value: unknown) => boolean, what: string][] = [
  ['departmentName', isText, 'a string'],
  ['searchTerm', isText, 'a string'],
  ['searchFrequencyRank', isPlace, 'a positive integer'],
  ['clickShareRank', isPlace, 'a positive integer'],
  ['clickedAsin', isAsin, 'an ASIN'],
  ['clickShare', isFraction, 'a number from 0 to 1'],
  [
    'conversionShare',
    (value) => value === undefined || value === null || isFraction(value),
    'a number from 0 to 1',
  ],
];

function checkEntry(value: unknown, number: number): Entry {
  if (typeof value !== 'object' || value === null) throw badEntry(number, 'must be an object');
  const entry = value as Entry;
  for (const [name, isGood, what] of FIELDS)
    if (!isGood(entry[name])) throw badEntry(number, `${name} must be ${what}, got ${shown(entry[name])}`);
  return entry;
}

function shown(value: unknown): string {
  return typeof value === 'object' && value !== null ? 'several values' : String(value).slice(0, MOST_SHOWN);
}

const MOST_SHOWN = 100;

function badEntry(number: number, reason: string): ReportError {
  return new ReportError(`Entry ${number}: ${reason}.`);
}

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
