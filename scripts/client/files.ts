import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { operationsFile } from './operations.ts';
import { pythonFiles } from './python.ts';
import { fingerprint, headOf, schemaDocument, withExactIntegers } from './types.ts';

const FOLDER = 'clients/typescript/src/generated';
export const OPERATIONS_FILE = `${FOLDER}/operations.ts`;
export const SCHEMAS_FILE = `${FOLDER}/schemas.ts`;

export const PYTHON_FOLDER = 'clients/python/src/souk/_generated';

/** Writes the generated files of the clients. */
export function writeClient(): void {
  writeFileSync(OPERATIONS_FILE, operationsFile());
  if (!isCurrent(readFileSync(SCHEMAS_FILE, 'utf8'))) writeFileSync(SCHEMAS_FILE, schemasFile());
  for (const [name, text] of Object.entries(pythonFiles())) writeFileSync(join(PYTHON_FOLDER, name), text);
}

/**
 * Returns whether the types were generated from the present document, and were not edited since. Generating them takes seconds, so
 * that the file says what it was generated from.
 */
export function isCurrent(text: string): boolean {
  const [head = '', ...lines] = text.split('\n');
  return `${head}\n` === headOf(markOf(lines.join('\n')));
}

function markOf(types: string): string {
  const { version } = JSON.parse(readFileSync('node_modules/openapi-typescript/package.json', 'utf8')) as {
    version: string;
  };
  const input = JSON.stringify([schemaDocument(), version]);
  return `Input ${fingerprint(input)}, output ${fingerprint(types)}.`;
}

/** Returns the types of all schemas. */
function schemasFile(): string {
  const path = join(tmpdir(), `souk-client-${process.pid}.json`);
  writeFileSync(path, JSON.stringify(schemaDocument()));
  const args = ['--import', './test/support/old-typescript.mjs'];
  const generator = 'node_modules/openapi-typescript/bin/cli.js';
  const { status, stdout, stderr } = spawnSync(process.execPath, [...args, generator, path], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  if (status !== 0) throw new Error(`openapi-typescript failed: ${stderr}`);
  const types = withExactIntegers(stdout);
  return `${headOf(markOf(types))}${types}`;
}
