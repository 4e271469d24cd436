import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findCommand, hasCommand, isExecutable, run, systemIsIgnored } from './commands.ts';

export interface RedisBinary {
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
  const work = `${root}.download`;
  await rm(work, { recursive: true, force: true });
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
    await rm(root, { recursive: true, force: true });
    await run('mv', [join(work, 'root'), root]);
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
