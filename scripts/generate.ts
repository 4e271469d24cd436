import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeClient } from './client/files.ts';
import { maps } from './maps.ts';
import { alertTable, MONITORING_FILES } from './monitoring.ts';
import { errorsTable } from './tables/errors.ts';
import { columnSections, productFieldSections } from './tables/fields.ts';
import {
  batchTable,
  operationsTable,
  poolTable,
  priceTable,
  timeoutTable,
  toolTable,
} from './tables/operations.ts';
import { plantedTable, soakRunsTable } from './tables/reliability.ts';
import { limitsTable, settingsTable } from './tables/settings.ts';

/**
 * `npm run generate`: writes the parts of the documents that are generated from contracts, errors and settings, the
 * maps of the pages, and the types and methods of the clients.
 */
export const PARTS: Record<string, () => string> = {
  operations: operationsTable,
  'batch operations': batchTable,
  prices: priceTable,
  timeouts: timeoutTable,
  pools: poolTable,
  tools: toolTable,
  errors: errorsTable,
  settings: settingsTable,
  limits: limitsTable,
  alerts: alertTable,
  columns: columnSections,
  'product fields': productFieldSections,
  'soak runs': soakRunsTable,
  'planted defects': plantedTable,
};

/** Returns the paths of the documents with generated parts. */
export function documents(): string[] {
  const inDocs = readdirSync('docs', { recursive: true, encoding: 'utf8' });
  return ['README.md', 'CONTRIBUTING.md', ...inDocs.map((name) => join('docs', name))].filter((path) =>
    path.endsWith('.md'),
  );
}

const START = /<!-- ([\w ]+): npm run generate -->/g;

/** Returns the names of the generated parts of a document, in order. */
export function partsOf(text: string): string[] {
  return [...text.matchAll(START)].map(([, name = '']) => name);
}

/** Returns the document with updated generated parts. @throws for an unknown part, and for a part without an end mark. */
export function withParts(text: string): string {
  return partsOf(text).reduce((document, name) => {
    const [start, end] = [`<!-- ${name}: npm run generate -->`, `<!-- end of ${name} -->`];
    const [before = '', rest = ''] = document.split(start);
    const [, after] = rest.split(end);
    const generate = PARTS[name];
    if (!generate || after === undefined) throw new Error(`Cannot generate ${start} ... ${end}.`);
    return `${before}${start}\n\n${generate()}\n\n${end}${after}`;
  }, text);
}

if (process.argv[1]?.endsWith('generate.ts')) {
  for (const path of documents()) {
    const text = readFileSync(path, 'utf8');
    const generated = withParts(text);
    if (generated !== text) writeFileSync(path, generated);
  }
  for (const [name, map] of Object.entries(maps())) writeFileSync(join('src/site/assets', name), map);
  for (const [path, make] of Object.entries(MONITORING_FILES)) writeFileSync(path, make());
  writeClient();
}
