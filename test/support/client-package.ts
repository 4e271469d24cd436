import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from '../../clients/typescript/build.mjs';

/** The built package of the TypeScript client, installed in a folder of its own. */
export interface ClientPackage {
  /** A folder whose programs can import `souk-client`. */
  folder: string;
  /** The folder of the package itself. */
  root: string;
  close(): void;
}

/** Builds the package and installs it. */
export async function buildClientPackage(): Promise<ClientPackage> {
  const folder = mkdtempSync(join(tmpdir(), 'souk-client-'));
  const root = join(folder, 'node_modules', 'souk-client');
  mkdirSync(root, { recursive: true });
  await build(join(root, 'dist'));
  for (const name of ['package.json', 'README.md', 'LICENSE'])
    cpSync(resolve('clients/typescript', name), join(root, name));
  return { folder, root, close: () => rmSync(folder, { recursive: true, force: true }) };
}
