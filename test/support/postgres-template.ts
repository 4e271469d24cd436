import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { migrate, schemaFiles } from '../../src/platform/db/migrate.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { postgresBinaries, run } from '../../src/platform/embedded/binaries.ts';
import { startPostgres } from '../../src/platform/embedded/postgres.ts';

const TEMPLATES = resolve('.souk/test-template');
/** The files that determine the content of a migrated data folder, in addition to the schema and the server's version. */
const SOURCES = [
  'src/platform/db/migrate.ts',
  'src/platform/embedded/postgres.ts',
  'test/support/postgres-template.ts',
];
const UNUSED_TEMPLATE_MS = DAY_MS;

/**
 * Copies a PostgreSQL data folder with a migrated database to `folder`, for `startPostgres`. The folder that is
 * copied is made once for each version of server and schema: initdb and the migrations take seconds.
 */
export async function copyMigratedPostgres(folder: string): Promise<void> {
  const template = join(TEMPLATES, await fingerprint());
  if (!existsSync(template)) await makeTemplate(template);
  await utimes(template, new Date(), new Date());
  await copyFolder(template, folder);
  await removeUnusedTemplates();
}

async function fingerprint(): Promise<string> {
  const { version } = await postgresBinaries();
  const hash = createHash('sha256').update(version);
  for (const file of [...schemaFiles(), ...SOURCES]) hash.update(`${file}\0`).update(await readFile(file));
  return hash.digest('hex').slice(0, 16);
}

/** Renames the finished folder into place, so that an interrupted run leaves no half-made template. */
async function makeTemplate(template: string): Promise<void> {
  await mkdir(TEMPLATES, { recursive: true });
  // PostgreSQL does not run as root, and a checkout may be closed to other users.
  const workshop = await mkdtemp(join(tmpdir(), 'souk-template-'));
  const unfinished = await mkdtemp(join(TEMPLATES, 'unfinished-'));
  try {
    await run('chmod', ['755', workshop]);
    const postgres = await startPostgres(join(workshop, 'postgres'), { durable: false });
    try {
      await migrate(postgres.url);
      await writeCatalogCache(postgres.url);
    } finally {
      await postgres.stop();
    }
    await copyFolder(join(workshop, 'postgres'), join(unfinished, 'postgres'));
    await rename(join(unfinished, 'postgres'), template).catch((error) => {
      // Another run has made the same template in the meantime.
      if (!existsSync(template)) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
    await rm(workshop, { recursive: true, force: true });
  }
}

/** Lets PostgreSQL write the file from which connections to the database, and to its copies, fill their caches of the catalog. */
async function writeCatalogCache(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.end();
}

/** Keeps owners and modes: the server refuses a data folder of another user. */
async function copyFolder(from: string, to: string): Promise<void> {
  await run('cp', ['-a', from, to]);
}

async function removeUnusedTemplates(): Promise<void> {
  for (const name of await readdir(TEMPLATES)) {
    const path = join(TEMPLATES, name);
    const lastUsed = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Number.POSITIVE_INFINITY,
    );
    if (lastUsed < Date.now() - UNUSED_TEMPLATE_MS) await rm(path, { recursive: true, force: true });
  }
}
