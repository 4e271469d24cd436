import { type ChildProcess, spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import {
  DEBIAN_FOLDER,
  findCommand,
  isExecutable,
  postgresBinaries,
  run,
} from '../../platform/embedded/binaries.ts';

/** A backup cannot be made or restored. The message is for the operator. */
export class BackupError extends Error {}

export type ToolName = 'pg_dump' | 'pg_restore' | 'psql';

/**
 * Finds PostgreSQL's own tools on PATH, in the folders of Debian, and beside the embedded PostgreSQL. A tool must not be older than
 * the server; the one of the server's version comes first, because a newer one may write what that server does not know.
 * @throws BackupError that names the package.
 */
export async function findTools<Name extends ToolName>(
  names: readonly Name[],
  serverMajor: number,
): Promise<Record<Name, string>> {
  const found = await Promise.all(
    names.map(async (name) => [name, await findTool(name, serverMajor)] as const),
  );
  const missing = found.flatMap(([name, path]) => (path ? [] : [name]));
  if (missing.length > 0)
    throw new BackupError(
      `${missing.join(' and ')} of PostgreSQL ${serverMajor} or later ${missing.length === 1 ? 'is' : 'are'} not on PATH, in ${DEBIAN_FOLDER} or beside the embedded PostgreSQL. Install the package postgresql-client-${serverMajor}.`,
    );
  return Object.fromEntries(found) as Record<Name, string>;
}

async function findTool(name: ToolName, serverMajor: number): Promise<string | null> {
  const versions = await readdir(DEBIAN_FOLDER).catch(() => []);
  const embedded = await postgresBinaries().then(
    ({ bin }) => [join(bin, name)],
    () => [],
  );
  const onPath = await findCommand(name);
  const paths = [
    ...(onPath ? [onPath] : []),
    ...versions.map((version) => join(DEBIAN_FOLDER, version, 'bin', name)),
    ...embedded,
  ];
  const usable: { path: string; major: number }[] = [];
  for (const path of new Set(paths)) {
    if (!(await isExecutable(path))) continue;
    const { stdout } = await run(path, ['--version']).catch(() => ({ stdout: '' }));
    const major = Number(/(\d+)/.exec(stdout)?.[1] ?? 0);
    if (major >= serverMajor) usable.push({ path, major });
  }
  return usable.sort((a, b) => a.major - b.major)[0]?.path ?? null;
}

/** The parameters of an address that the tools know as well. */
const KNOWN_PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'host', 'target_session_attrs'];

/** A tool that runs. */
export interface Tool {
  child: ChildProcess & { stdin: Writable };
  /** @throws BackupError with the last lines of the tool if it fails. */
  ended: Promise<void>;
}

/** Starts a tool on a database. The password is in its environment, because other users see its arguments. */
export function startTool(path: string, databaseUrl: string | null, args: readonly string[]): Tool {
  const address = databaseUrl === null ? null : new URL(databaseUrl);
  const password = decodeURIComponent(address?.password ?? '');
  if (address) {
    address.password = '';
    for (const name of [...address.searchParams.keys()])
      if (!KNOWN_PARAMETERS.includes(name)) address.searchParams.delete(name);
  }
  const child = spawn(path, [...(address ? [`--dbname=${address.href}`] : []), ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, LC_ALL: 'C.UTF-8', ...(password && { PGPASSWORD: password }) },
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = `${said}${text}`.slice(-2_000);
  });
  const ended = new Promise<void>((done, fail) => {
    child.once('error', fail);
    child.once('close', (code) =>
      code === 0
        ? done()
        : fail(new BackupError(`${path} failed: ${said.trim() || `it ended with ${code}`}`)),
    );
  });
  // A tool that fails closes its input; its message says why.
  child.stdin.on('error', () => {});
  // Callers await it after the streams.
  ended.catch(() => {});
  return { child, ended };
}
