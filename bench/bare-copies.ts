import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { loadedWeeks } from '../src/brand-analytics/weeks.ts';
import type { Database } from '../src/platform/db/pool.ts';

const CHUNK_BYTES = 2 ** 20;

/**
 * Returns the milliseconds of a COPY of a report's file into a new table of text columns without index, in one
 * transaction, like the import.
 */
export async function bareCopyMs(database: Database, file: string): Promise<number> {
  const columns = Array.from({ length: 21 }, (_, i) => `c${i} text`).join(', ');
  const start = await startOfSecondLine(file);
  return timedCopy(database, `create table bare (${columns})`, 'csv, header true', () =>
    createReadStream(file, { start, highWaterMark: CHUNK_BYTES }),
  );
}

/**
 * Returns the milliseconds of a COPY of the newest week's finished rows into a new table with all indexes of a week: the
 * cost of a loader without any processing.
 */
export async function finishedCopyMs(database: Database, folder: string): Promise<number> {
  const [week] = await loadedWeeks(database, 'amazon', 'us');
  if (!week) throw new Error('there is no week to copy');
  const file = `${folder}/finished`;
  const client = await database.connect();
  try {
    await pipeline(
      client.query(copyTo(`copy ${week.table} to stdout (format binary)`)),
      createWriteStream(file),
    );
  } finally {
    client.release();
  }
  const table = `create table bare (like ${week.table} including defaults including indexes)`;
  try {
    return await timedCopy(database, table, 'binary', () =>
      createReadStream(file, { highWaterMark: CHUNK_BYTES }),
    );
  } finally {
    await rm(file);
  }
}

async function timedCopy(
  database: Database,
  createTable: string,
  format: string,
  open: () => NodeJS.ReadableStream,
): Promise<number> {
  const client: pg.PoolClient = await database.connect();
  try {
    const startedAt = performance.now();
    await client.query('begin');
    await client.query(createTable);
    await pipeline(open(), client.query(copyFrom(`copy bare from stdin (format ${format})`)));
    await client.query('commit');
    const ms = performance.now() - startedAt;
    await client.query('drop table bare');
    return ms;
  } finally {
    client.release();
  }
}

async function startOfSecondLine(file: string): Promise<number> {
  for await (const chunk of createReadStream(file)) return (chunk as Buffer).indexOf('\n') + 1;
  return 0;
}
