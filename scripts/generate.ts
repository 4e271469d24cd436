import { readFileSync, writeFileSync } from 'node:fs';
import { errorsTable } from './errors-table.ts';
import { operationsTable } from './operations-table.ts';

/** `npm run generate`: writes into README.md what follows from the contracts and the list of errors. */
const README = 'README.md';

const TABLES: Record<string, () => string> = { operations: operationsTable, errors: errorsTable };

/** The README with its generated parts up to date. */
export function withTables(readme: string): string {
  return Object.entries(TABLES).reduce((text, [name, table]) => {
    const [start, end] = [`<!-- ${name}: npm run generate -->`, `<!-- end of ${name} -->`];
    const [before, rest] = text.split(start);
    const after = rest?.split(end)[1];
    if (before === undefined || after === undefined)
      throw new Error(`${README} has lost its marks ${start} and ${end}.`);
    return `${before}${start}\n\n${table()}\n\n${end}${after}`;
  }, readme);
}

if (process.argv[1]?.endsWith('generate.ts')) writeFileSync(README, withTables(readFileSync(README, 'utf8')));
