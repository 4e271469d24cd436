import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { only } from '../../platform/db/rows.ts';
import { sealStream } from '../../platform/sealed-stream.ts';
import { BackupError, findTools, startTool } from './tools.ts';

export interface Backup {
  file: string;
  bytes: number;
  isEncrypted: boolean;
  /** Everything that was committed before is in the backup. */
  begunAt: Date;
}

/**
 * Dumps a database to a file, in the custom format of pg_dump.
 * @param to a new file, or a folder, in which the file gets a name with the time. @param key encrypts the file; null: it is not.
 * @throws BackupError
 */
export async function backUp(
  database: Database,
  { databaseUrl, to, key }: { databaseUrl: string; to: string; key: string | null },
): Promise<Backup> {
  const { pg_dump: dump } = await findTools(['pg_dump'], await serverMajor(database));
  // The backup contains its own time, which a restored installation shows to its customers.
  const { rows } = await database.query<{ at: Date }>(
    `update admission_state set backup_begun_at = date_trunc('milliseconds', clock_timestamp())
     returning backup_begun_at as at`,
  );
  const begunAt = only(rows).at;
  const file = await newFile(to, begunAt, key !== null);
  const unfinished = `${file}.part`;
  const { child, ended } = startTool(dump, databaseUrl, ['--format=custom', '--no-password']);
  try {
    const stream = createWriteStream(unfinished, { flags: 'wx', mode: 0o600, flush: true });
    const dumped = child.stdout as Readable;
    await (key === null ? pipeline(dumped, stream) : pipeline(sealStream(dumped, key), stream));
    await ended;
    await rename(unfinished, file);
  } catch (error) {
    child.kill();
    // The failure of the tool explains that of its stream.
    await ended.catch((failure: unknown) => {
      if (failure instanceof BackupError) throw failure;
    });
    throw error;
  } finally {
    await rm(unfinished, { force: true });
  }
  const { size } = await stat(file);
  return { file, bytes: size, isEncrypted: key !== null, begunAt };
}

export async function serverMajor(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ server_version_num: string }>('show server_version_num');
  return Math.floor(Number(only(rows).server_version_num) / 10_000);
}

async function newFile(to: string, at: Date, isEncrypted: boolean): Promise<string> {
  const known = await stat(to).catch(() => null);
  if (!known?.isDirectory()) {
    if (known) throw new BackupError(`${to} exists already; a backup replaces no file.`);
    return to;
  }
  const time = at.toISOString().slice(0, 19).replaceAll(':', '');
  return join(to, `souk-${time}Z.dump${isEncrypted ? '.sealed' : ''}`);
}
