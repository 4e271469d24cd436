import { availableParallelism } from 'node:os';
import { recordFigures } from './figures.ts';
import { printRow, type Row } from './row.ts';
import { accountsRows } from './rows/accounts.ts';
import { admissionRows } from './rows/admission.ts';
import { batchRows } from './rows/batch.ts';
import { bodyRows } from './rows/bodies.ts';
import { brandAnalyticsRows } from './rows/brand-analytics.ts';
import { cachedRows } from './rows/cached.ts';
import { clusterRows } from './rows/cluster.ts';
import { exportRows } from './rows/export.ts';
import { formatRows } from './rows/formats.ts';
import { historyRows, longHistoryRows } from './rows/history.ts';
import { largeListRows } from './rows/large-list.ts';
import { latencyRows } from './rows/latency.ts';
import { pagesRows } from './rows/pages.ts';
import { screenRows } from './rows/screen.ts';
import { uncachedRows } from './rows/uncached.ts';
import { openServices, type Services } from './services.ts';

type Group = (services: Services) => Promise<Row[]>;

/** The groups that run by default. Together they take less than ten minutes. */
const DEFAULT_GROUPS: Record<string, Group> = {
  cached: cachedRows,
  uncached: uncachedRows,
  bodies: bodyRows,
  latency: latencyRows,
  'large-list': largeListRows,
  admission: admissionRows,
};

/** The groups that take several minutes each. They run by their names. */
const LONG_GROUPS: Record<string, Group> = {
  batch: batchRows,
  accounts: accountsRows,
  cluster: clusterRows,
  pages: pagesRows,
  aba: brandAnalyticsRows,
  screen: screenRows,
  export: exportRows,
  formats: formatRows,
  history: historyRows,
  'long-history': longHistoryRows,
};

/**
 * `npm run bench [GROUP ...]`: measures each row and its baseline in the same run. With `--record` as the first argument, the rows
 * of the table of figures are entered in docs/operating/speed.md.
 */
const groups: Record<string, Group> = { ...DEFAULT_GROUPS, ...LONG_GROUPS };
const [option, ...names] = process.argv.slice(2);
const isRecorded = option === '--record';
const given = isRecorded || option === undefined ? names : [option, ...names];
const unknown = given.filter((name) => !groups[name]);
if (unknown.length > 0) {
  console.error(`No such group: ${unknown.join(', ')}. There are ${Object.keys(groups).join(', ')}.`);
  process.exit(1);
}
// Both move the figures.
console.log(`Node ${process.version}, ${availableParallelism()} processors`);
for (const name of given.length > 0 ? given : Object.keys(DEFAULT_GROUPS)) {
  // Each group has its own services, so that groups do not affect each other.
  const services = await openServices();
  try {
    const rows = (await groups[name]?.(services)) ?? [];
    for (const row of rows) printRow(row);
    if (isRecorded) await recordFigures(rows, new Date());
  } finally {
    await services.close();
  }
}
