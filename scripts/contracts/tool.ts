import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Database } from '../../src/platform/db/pool.ts';

const run = promisify(execFile);

/** A service of demo data, and an account without limits, with its key. */
export interface Service {
  url: string;
  key: string;
  database: Database;
  accountId: number;
}

/** Tries something in an empty folder. @throws an error that names a fault. */
export type Contract = (folder: string, service: Service) => Promise<void>;

/** Runs a command of packages that npx fetches. @returns what it printed. */
export function npx(
  packages: readonly string[],
  command: string,
  args: readonly string[],
  folder: string,
  env: Record<string, string> = {},
): Promise<string> {
  const fetched = packages.flatMap((one) => ['--package', one]);
  return tool('npx', ['--yes', ...fetched, command, ...args], folder, env);
}

/** Install scripts of the packages are not run. @returns what the program printed to both of its outputs. */
export async function tool(
  file: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<string> {
  const npm = { npm_config_ignore_scripts: 'true', npm_config_loglevel: 'error' };
  try {
    const options = { cwd, env: { ...process.env, ...npm, CI: '1', ...env }, maxBuffer: 2 ** 28 };
    const { stdout, stderr } = await run(file, args, options);
    return `${stdout}${stderr}`;
  } catch (error) {
    const { message, stdout = '', stderr = '' } = error as Error & { stdout?: string; stderr?: string };
    throw new Error(`${message}\n${stdout}${stderr}`);
  }
}

const TSCONFIG = {
  compilerOptions: {
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable'],
    types: [],
    strict: true,
    noEmit: true,
    module: 'preserve',
    moduleResolution: 'bundler',
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  },
  include: ['program.ts'],
};

/** Writes a program as `program.ts`, and checks its types. */
export async function typeCheck(folder: string, program: string): Promise<void> {
  writeFileSync(join(folder, 'program.ts'), program);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  const compiler = join(resolve('node_modules'), 'typescript', 'bin', 'tsc');
  await tool(process.execPath, [compiler, '--project', '.'], folder);
}
