import { printRows, type Row } from './row.ts';
import { admissionRows } from './rows/admission.ts';
import { batchRows } from './rows/batch.ts';
import { brandAnalyticsRows } from './rows/brand-analytics.ts';
import { cachedRows } from './rows/cached.ts';
import { fairnessRows } from './rows/fairness.ts';
import { historyRows, longHistoryRows } from './rows/history.ts';
import { largeListRows } from './rows/large-list.ts';
import { uncachedRows } from './rows/uncached.ts';
import { openServices, type Services } from './services.ts';

const GROUPS: Record<string, (services: Services) => Promise<Row[]>> = {
  cached: cachedRows,
  uncached: uncachedRows,
  'large-list': largeListRows,
  admission: admissionRows,
  fairness: fairnessRows,
  batch: batchRows,
  aba: brandAnalyticsRows,
  history: historyRows,
  // Fills a database with ten million calls, so only on request.
  'long-history': longHistoryRows,
};

/** `npm run bench [GROUP ...]`: measures each row and its baseline in the same run, and prints a table. */
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !GROUPS[name]);
if (unknown.length > 0) {
  console.error(`No such group: ${unknown.join(', ')}. There are ${Object.keys(GROUPS).join(', ')}.`);
  process.exit(1);
}
const rows: Row[] = [];
for (const [name, measure] of Object.entries(GROUPS)) {
  if (asked.length === 0 ? name === 'long-history' : !asked.includes(name)) continue;
  // Each group has its own services, so that groups do not affect each other.
  const services = await openServices();
  try {
    rows.push(...(await measure(services)));
  } finally {
    await services.close();
  }
}
printRows(rows);
