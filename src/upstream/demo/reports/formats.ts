import Papa from 'papaparse';
import type { RankedTerm } from './ranking.ts';

const ROWS_A_CHUNK = 2_000;

/** A ranking as the file one downloads from the seller site, in English. */
export function* csvOf(ranking: Iterable<RankedTerm>, firstDay: string, lastDay: string): Generator<string> {
  yield `\uFEFFReporting Range=["Weekly"],Select week=["Week | ${firstDay} - ${lastDay} ${lastDay.slice(0, 4)}"]\n`;
  yield `${Papa.unparse([COLUMNS], { newline: '\n' })}\n`;
  let text = '';
  let rows = 0;
  for (const one of ranking) {
    text += rowOf(one, lastDay);
    rows += 1;
    if (rows % ROWS_A_CHUNK !== 0) continue;
    yield text;
    text = '';
  }
  if (text !== '') yield text;
}

/** A million rows a week: a library that looks at every field takes longer than all the rest. */
function rowOf({ rank, term, brands, categories, products }: RankedTerm, lastDay: string): string {
  let row = `${rank},${field(term)}`;
  for (let place = 0; place < 3; place += 1) row += `,${brands[place] ?? ''}`;
  for (let place = 0; place < 3; place += 1) row += `,${categories[place] ?? ''}`;
  for (let place = 0; place < 3; place += 1) {
    const product = products[place];
    row += product
      ? `,${product.asin},${field(product.title)},${product.click},${product.conversion ?? ''}`
      : ',,,,';
  }
  return `${row},${lastDay}\n`;
}

function field(text: string): string {
  if (text.includes('"')) return `"${text.replaceAll('"', '""')}"`;
  return text.includes(',') || text.includes('\n') ? `"${text}"` : text;
}

/** The same as the document the Selling Partner API hands out. */
export function* jsonOf(
  ranking: Iterable<RankedTerm>,
  about: { firstDay: string; lastDay: string; marketplaceId: string; department: string },
): Generator<string> {
  const specification = {
    reportType: 'GET_BRAND_ANALYTICS_SEARCH_TERMS_REPORT',
    reportOptions: { reportPeriod: 'WEEK' },
    dataStartTime: about.firstDay,
    dataEndTime: about.lastDay,
    marketplaceIds: [about.marketplaceId],
  };
  yield `{"reportSpecification":${JSON.stringify(specification)},"dataByDepartmentAndSearchTerm":[`;
  let isFirst = true;
  for (const { rank, term, products } of ranking) {
    let text = '';
    for (const [place, product] of products.entries()) {
      const entry = {
        departmentName: about.department,
        searchTerm: term,
        searchFrequencyRank: rank,
        clickedAsin: product.asin,
        clickedItemName: product.title,
        clickShareRank: place + 1,
        clickShare: fraction(product.click),
        conversionShare: fraction(product.conversion ?? 0),
      };
      text += `${isFirst ? '' : ','}${JSON.stringify(entry)}`;
      isFirst = false;
    }
    yield text;
  }
  yield ']}';
}

const COLUMNS = [
  ...['Search Frequency Rank', 'Search Term'],
  ...['Top Clicked Brand #1', 'Top Clicked Brands #2', 'Top Clicked Brands #3'],
  ...[1, 2, 3].map((place) => `Top Clicked Category #${place}`),
  ...[1, 2, 3].flatMap((place) =>
    ['ASIN', 'Product Title', 'Click Share', 'Conversion Share'].map(
      (name) => `Top Clicked Product #${place}: ${name}`,
    ),
  ),
  'Reporting Date',
];

function fraction(percent: number): number {
  return Math.round(percent * 100) / 10_000;
}
