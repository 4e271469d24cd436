import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { run } from '../../../../src/platform/embedded/binaries.ts';
import type { Defect } from './defects.ts';

/** Everything that a build reads. */
const BUILT = ['src', 'jobs', 'workers', 'demo', 'scripts', 'docs', 'package.json', 'tsconfig.json'];

/** A build with a defect. */
export interface Planted {
  programs: string;
  /** Functions of the database that differ from the present ones. */
  sql: string[];
  remove(): Promise<void>;
}

/**
 * Applies the edits of a defect to a copy of the sources, and compiles it.
 * @param programs those without the defect, which do as well if only functions of the database change.
 */
export async function plant({ name, edits }: Defect, programs: string): Promise<Planted> {
  const copy = resolve('.souk', 'planted', name);
  await rm(copy, { recursive: true, force: true });
  await mkdir(copy, { recursive: true });
  const remove = () => rm(copy, { recursive: true, force: true });
  const changed = new Map<string, string>();
  for (const { file, find, replace } of edits) {
    const text = changed.get(file) ?? (await readFile(file, 'utf8'));
    if (text.split(find).length !== 2)
      throw new Error(`${name}: ${file} does not have exactly once: ${find}`);
    changed.set(
      file,
      text.replace(find, () => replace),
    );
  }
  const sql = [...changed].filter(([file]) => file.endsWith('.sql')).map(([, text]) => text);
  if (sql.length === changed.size) return { programs, sql, remove };
  for (const path of BUILT) await cp(path, join(copy, path), { recursive: true });
  await symlink(resolve('node_modules'), join(copy, 'node_modules'));
  for (const [file, text] of changed) await writeFile(join(copy, file), text);
  const built = join(copy, 'dist');
  await run(process.execPath, [join(copy, 'scripts/build.mjs'), built]);
  return { programs: built, sql, remove };
}
