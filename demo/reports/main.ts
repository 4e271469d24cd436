import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { addDays } from '../../src/platform/calendar.ts';
import { WEEK_MS } from '../../src/platform/durations.ts';
import { csvOf } from './formats.ts';
import { rankingOf } from './ranking.ts';

/**
 * Writes generated reports as CSV: main.ts FOLDER TERMS us:2026-04-11 ... Each becomes FOLDER/us-2026-04-11.csv, whose
 * name is printed when the file is complete. The products are those of the demo provider.
 */
const PRODUCTS_PER_LEAF = 60;

const [folder = '.', terms = '10000', ...wanted] = process.argv.slice(2);
for (const one of wanted) {
  const [site = '', lastDay = ''] = one.split(':');
  const ranking = rankingOf({
    site,
    week: Math.floor(Date.parse(lastDay) / WEEK_MS),
    terms: Number(terms),
    productsPerLeaf: Math.max(PRODUCTS_PER_LEAF, Math.round(Number(terms) / 400)),
  });
  const file = createWriteStream(join(folder, `${site}-${lastDay}.csv`));
  await pipeline(Readable.from(csvOf(ranking, addDays(lastDay, -6), lastDay)), file);
  process.stdout.write(`${one}\n`);
}
