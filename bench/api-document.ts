import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import Papa from 'papaparse';
import { csvPieces } from '../src/brand-analytics/import/csv-pieces.ts';
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
  for await (const { bytes, line } of csvPieces(createReadStream(csv, { highWaterMark: 2 ** 20 }))) {
    if (line === 1) continue;
    const records = Papa.parse<string[]>(Buffer.from(bytes).toString(), {
      delimiter: ',',
      newline: '\n',
    }).data;
    const entries = records.flatMap(entriesOf);
    if (entries.length === 0) continue;
    yield `${comma}${entries.join(',\n')}`;
    comma = ',\n';
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
