import { readFileSync, writeFileSync } from 'node:fs';
import { operationsTable } from './operations-table.ts';

/** `npm run generate`: writes into README.md what follows from the contracts. */
const README = 'README.md';
const [START, END] = ['<!-- operations: npm run generate -->', '<!-- end of operations -->'] as const;

/** The README with its generated part up to date. */
export function withTable(readme: string): string {
  const [before, rest] = readme.split(START);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error(`${README} has lost its marks ${START} and ${END}.`);
  return `${before}${START}\n\n${operationsTable()}\n\n${END}${after}`;
}

if (process.argv[1]?.endsWith('generate.ts')) writeFileSync(README, withTable(readFileSync(README, 'utf8')));
