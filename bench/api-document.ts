import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import Papa from 'papaparse';
import { addDays } from '../src/operations/brand-analytics/keywords/report-week.ts';
import { REPORT_SITES } from '../src/operations/brand-analytics/keywords/sites.ts';

/** First columns of the three products of a record: ASIN, title, click share, conversion share. */
const PRODUCTS_AT = [8, 12, 16];

/** Converts a downloaded report to the API's document, with one entry for each term and product. */
export async function writeApiDocument(csv: string, week: string, file: string): Promise<void> {
  await pipeline(Readable.from(documentOf(csv, week)), createWriteStream(file));
}

async function* documentOf(csv: string, week: string): AsyncGenerator<string> {
  const reportSpecification = {
    reportType: 'GET_BRAND_ANALYTICS_SEARCH_TERMS_REPORT',
    reportOptions: { reportPeriod: 'WEEK' },
    dataStartTime: addDays(week, -6),
    dataEndTime: week,
    marketplaceIds: [REPORT_SITES.us.marketplaceId],
  };
  yield `{"reportSpecification":${JSON.stringify(reportSpecification)},"dataByDepartmentAndSearchTerm":[`;
  let comma = '';
  const records = createReadStream(csv, { highWaterMark: 2 ** 20 }).pipe(
    Papa.parse(Papa.NODE_STREAM_INPUT, { delimiter: ',', newline: '\n' }),
  );
  let head = 2;
  for await (const record of records as AsyncIterable<string[]>) {
    if (head > 0) {
      head -= 1;
      continue;
    }
    for (const entry of entriesOf(record)) {
      yield `${comma}${entry}`;
      comma = ',\n';
    }
  }
  yield ']}';
}

function entriesOf(record: string[]): string[] {
  return PRODUCTS_AT.flatMap((at, place) =>
    record[at]
      ? JSON.stringify({
          departmentName: 'Amazon.com',
          searchTerm: record[1],
          searchFrequencyRank: Number(record[0]),
          clickedAsin: record[at],
          clickedItemName: record[at + 1],
          clickShareRank: place + 1,
          clickShare: Number(record[at + 2]) / 100,
          conversionShare: Number(record[at + 3]) / 100,
        })
      : [],
  );
}
