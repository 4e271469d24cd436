import Papa from 'papaparse';
import type { RankedTerm } from './ranking.ts';

const ROWS_A_CHUNK = 2_000;

/** Writes a ranking as the English CSV file that the seller site offers for download. */
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

/** Written by hand: with a million rows a week, a CSV library would take longer than everything else. */
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

const COLUMNS = [
  'Search Frequency Rank',
  'Search Term',
  'Top Clicked Brand #1',
  'Top Clicked Brands #2',
  'Top Clicked Brands #3',
  ...[1, 2, 3].map((place) => `Top Clicked Category #${place}`),
  ...[1, 2, 3].flatMap((place) =>
    ['ASIN', 'Product Title', 'Click Share', 'Conversion Share'].map(
      (name) => `Top Clicked Product #${place}: ${name}`,
    ),
  ),
  'Reporting Date',
];
